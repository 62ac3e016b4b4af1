// A person's disc: color and initial, never without the name beside it or in its title.

import { initial, personClass } from "../people"

interface FaceProps {
  name: string
  color: number
  title?: string
  size?: "small" | "large"
  away?: boolean
}

export function Face({ name, color, title, size, away = false }: FaceProps) {
  const classes = ["face", personClass(color), size ?? "", away ? "away" : ""].join(" ")
  return (
    <span className={classes} title={title ?? name} aria-hidden={title === undefined}>
      {initial(name)}
    </span>
  )
}

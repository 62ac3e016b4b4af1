// The time, for words like "2 s ago"; ticks once a second while the window is seen.

import { useEffect, useState } from "react"

export function useNow(): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now())
    }, 1000)
    return () => clearInterval(timer)
  }, [])
  return now
}

// How a person looks: a color by number, an initial. Names come from other computers, so nothing
// here trusts their length or content.

const CLASSES = [
  "p-teal",
  "p-violet",
  "p-gold",
  "p-plum",
  "p-rose",
  "p-steel",
  "p-moss",
  "p-ember",
] as const

/** How many colors there are to choose from. */
export const PERSON_COLORS = CLASSES.length

const COLOR_NAMES = ["Teal", "Violet", "Gold", "Plum", "Rose", "Steel", "Moss", "Ember"] as const

/** Returns the name of a person's color, for those who cannot see it. */
export function colorName(color: number): string {
  return COLOR_NAMES[index(color)] ?? COLOR_NAMES[0]
}

/** Returns the class that sets `--p` to a person's color. */
export function personClass(color: number): string {
  return CLASSES[index(color)] ?? CLASSES[0]
}

/** Returns the first letter of a name, as a reader would count letters. */
export function initial(name: string): string {
  const letters = new Intl.Segmenter().segment(name.trim())
  for (const { segment } of letters) return segment.toLocaleUpperCase()
  return "?"
}

function index(color: number): number {
  if (!Number.isFinite(color)) return 0
  const whole = Math.trunc(color) % CLASSES.length
  return whole < 0 ? whole + CLASSES.length : whole
}

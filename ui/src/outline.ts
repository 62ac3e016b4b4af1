// The headings of one LaTeX text, in order. Reads lines, not grammar: a heading is a sectioning
// command at a place that is not a comment. Knows no other file.

/** One heading; `depth` 0 is the largest that occurs in the text. */
export interface Heading {
  readonly line: number
  readonly depth: number
  readonly title: string
}

const LEVELS = [
  "part",
  "chapter",
  "section",
  "subsection",
  "subsubsection",
  "paragraph",
  "subparagraph",
]
const COMMAND = new RegExp(`\\\\(${LEVELS.join("|")})\\*?\\s*(?:\\[[^\\]]*\\]\\s*)?\\{`, "g")

/** Returns the headings of a text given line by line. */
export function outline(lines: Iterable<string>): Heading[] {
  const found: { line: number; level: number; title: string }[] = []
  let number = 0
  for (const line of lines) {
    number++
    if (!line.includes("\\")) continue
    const text = withoutComment(line)
    for (const match of text.matchAll(COMMAND)) {
      const title = plain(argument(text, match.index + match[0].length))
      if (title) found.push({ line: number, level: LEVELS.indexOf(match[1] ?? ""), title })
    }
  }
  const levels = [...new Set(found.map((heading) => heading.level))].sort((a, b) => a - b)
  return found.map(({ line, level, title }) => ({ line, depth: levels.indexOf(level), title }))
}

/** Returns `after`, made of the objects of `before` where nothing changed. */
export function kept(before: readonly Heading[], after: readonly Heading[]): readonly Heading[] {
  let same = before.length === after.length
  const headings = after.map((heading, index) => {
    const old = before[index]
    if (
      old &&
      old.line === heading.line &&
      old.depth === heading.depth &&
      old.title === heading.title
    )
      return old
    same = false
    return heading
  })
  return same ? before : headings
}

/** Returns the index of the heading that a line stands under, or -1. */
export function headingAt(headings: readonly Heading[], line: number): number {
  return headings.findLastIndex((heading) => heading.line <= line)
}

function withoutComment(line: string): string {
  const at = line.search(/(?<!\\)(?:\\\\)*%/)
  return at < 0 ? line : line.slice(0, line.indexOf("%", at))
}

/** Returns the text up to the brace that closes the one before `from`, or the rest of the line. */
function argument(text: string, from: number): string {
  let depth = 1
  for (let at = from; at < text.length; at++) {
    const sign = text[at]
    if (sign === "\\") at++
    else if (sign === "{") depth++
    else if (sign === "}" && --depth === 0) return text.slice(from, at)
  }
  return text.slice(from)
}

/** Returns a title as a reader would say it: no commands, no braces. */
function plain(title: string): string {
  return title
    .replace(/\\(?:label|footnote|index)\{[^}]*\}/g, "")
    .replace(/\\[a-zA-Z]+\*?\s*/g, "")
    .replace(/\\[,;:! ]/g, " ")
    .replace(/\\(.)/g, "$1")
    .replace(/~/g, " ")
    .replace(/[{}$]/g, "")
    .replace(/\s+/g, " ")
    .trim()
}

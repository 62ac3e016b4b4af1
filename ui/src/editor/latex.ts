// Colors for LaTeX: commands, braces, inline math, keys, comments, headings, and nothing more,
// since prose should stay plain ink. A line-by-line reader that never fails on broken markup;
// it knows no grammar and no packages.

import {
  HighlightStyle,
  StreamLanguage,
  type StreamParser,
  type StringStream,
  syntaxHighlighting,
} from "@codemirror/language"
import type { Extension } from "@codemirror/state"
import { Tag } from "@lezer/highlight"
import { proseOnly } from "./spelling"

/** The colors; the classes are in `style/quire.css`. */
export const texTags = {
  command: Tag.define(),
  brace: Tag.define(),
  math: Tag.define(),
  key: Tag.define(),
  comment: Tag.define(),
  heading: Tag.define(),
}

const style = HighlightStyle.define(
  Object.entries(texTags).map(([name, tag]) => ({ tag, class: `tex-${name}` })),
)

type ArgumentKind = "heading" | "key" | "math"

const HEADINGS =
  /^(?:part|chapter|section|subsection|subsubsection|paragraph|subparagraph|title|caption)$/
const KEYS =
  /^(?:label|(?:[a-zA-Z]*(?:ref|cite[a-z]*))|nocite|bibliography|bibliographystyle|addbibresource|input|include|includeonly|includegraphics|usepackage|documentclass|RequirePackage|url|gls|Gls|acs?)$/
const VERBATIM = /^(?:verbatim\*?|lstlisting|minted|comment|Verbatim)$/

interface Reading {
  /** What closes the inline math we are in. */
  math: "$" | "$$" | "\\)" | null
  /** The argument that the last command still waits for. */
  awaits: ArgumentKind | null
  /** The argument we are in, and how many braces are open in it. */
  argument: { kind: ArgumentKind; depth: number } | null
  /** In `[...]` before a command's argument. */
  optional: boolean
  /** The name after `\begin`, while it is read. */
  beginning: boolean
  /** The sign around the plain text after `\verb`. */
  verb: string | null
  /** The environment whose end ends plain text. */
  verbatim: string | null
}

function leave(state: Reading) {
  state.math = null
  state.awaits = null
  state.argument = null
  state.optional = false
  state.beginning = false
  state.verb = null
}

function readCommand(stream: StringStream, state: Reading): string {
  stream.next()
  const name = stream.match(/^[a-zA-Z@]+/)
  if (!name || name === true) {
    const sign = stream.next()
    if (sign === "(" && !state.math) {
      state.math = "\\)"
      return "math"
    }
    if (sign === ")" && state.math === "\\)") {
      state.math = null
      return "math"
    }
    return "command"
  }
  const word = name[0]
  stream.eat("*")
  if (word === "verb" || word === "lstinline") {
    state.verb = /[^\s{a-zA-Z]/.exec(stream.peek() ?? "")?.[0] ?? null
    return "command"
  }
  if (state.argument === null) {
    state.beginning = word === "begin"
    if (word === "begin" || word === "end") state.awaits = "math"
    else if (HEADINGS.test(word)) state.awaits = "heading"
    else if (KEYS.test(word)) state.awaits = "key"
    else state.awaits = null
  }
  return "command"
}

/** Reads one piece while a command waits for its argument; null when there is none to come. */
function readBeforeArgument(stream: StringStream, state: Reading): string | null | undefined {
  if (state.optional) {
    if (stream.eat("]")) {
      state.optional = false
      return "brace"
    }
    if (stream.peek() === "\\") return readOptionalCommand(stream)
    stream.eatWhile(/[^\]\\%]/)
    return null
  }
  if (stream.eat("[")) {
    state.optional = true
    return "brace"
  }
  if (stream.eat("{")) {
    state.argument = { kind: state.awaits ?? "key", depth: 1 }
    state.awaits = null
    return "brace"
  }
  if (stream.eatSpace()) return null
  state.awaits = null
  return undefined
}

function readOptionalCommand(stream: StringStream): string {
  stream.next()
  if (!stream.match(/^[a-zA-Z@]+/)) stream.next()
  return "command"
}

const parser: StreamParser<Reading> = {
  name: "latex",
  startState: () => ({
    math: null,
    awaits: null,
    argument: null,
    optional: false,
    beginning: false,
    verb: null,
    verbatim: null,
  }),
  copyState: (state) => ({ ...state, argument: state.argument && { ...state.argument } }),
  // A paragraph's end closes whatever was left open, as it does in TeX; an error stays small.
  blankLine: leave,
  languageData: { commentTokens: { line: "%" } },
  tokenTable: texTags,

  token(stream, state) {
    if (state.verbatim) {
      if (
        stream.sol() &&
        stream.match(new RegExp(`^\\s*(?=\\\\end\\{${literally(state.verbatim)}\\})`))
      ) {
        state.verbatim = null
        return null
      }
      if (stream.match(`\\end{${state.verbatim}}`, false)) {
        state.verbatim = null
        return null
      }
      stream.skipToEnd()
      return "key"
    }
    if (state.verb) {
      stream.next()
      if (stream.skipTo(state.verb)) stream.next()
      else stream.skipToEnd()
      state.verb = null
      return "key"
    }
    const next = stream.peek()
    if (next === "%") {
      stream.skipToEnd()
      return "comment"
    }
    if (state.awaits) {
      const token = readBeforeArgument(stream, state)
      if (token !== undefined) return token
    }
    if (next === "\\") return readCommand(stream, state)
    if (state.argument) {
      const { argument } = state
      if (stream.eat("{")) {
        argument.depth++
        return "brace"
      }
      if (stream.eat("}")) {
        argument.depth--
        if (argument.depth === 0) state.argument = null
        return "brace"
      }
      if (!stream.match(/^[^\\{}%]+/)) stream.next()
      if (argument.kind === "math" && state.beginning) {
        state.beginning = false
        if (VERBATIM.test(stream.current())) state.verbatim = stream.current()
        if (state.verbatim) {
          state.argument = null
          return "math"
        }
      }
      return argument.kind
    }
    if (stream.eat("$")) {
      const mark = stream.eat("$") ? "$$" : "$"
      if (state.math === null) state.math = mark
      else if (state.math !== "\\)") state.math = null
      return "math"
    }
    if (stream.eat("{") || stream.eat("}")) return state.math ? "math" : "brace"
    if (state.math) {
      stream.match(/^[^\\{}$%]+/)
      return "math"
    }
    if (!stream.match(/^[^\\{}$%]+/)) stream.next()
    return null
  },
}

function literally(text: string): string {
  return text.replace(/[*\\^$.|?+()[\]{}]/g, "\\$&")
}

const bibParser: StreamParser<{ entry: boolean }> = {
  name: "bibtex",
  startState: () => ({ entry: false }),
  tokenTable: texTags,
  languageData: { commentTokens: { line: "%" } },
  token(stream, state) {
    if (stream.match(/^@[a-zA-Z]+/)) {
      state.entry = true
      return "command"
    }
    if (stream.eat("{") || stream.eat("}")) return "brace"
    if (state.entry && stream.match(/^[^\s,{}=]+(?=\s*,)/)) {
      state.entry = false
      return "key"
    }
    if (stream.match(/^[a-zA-Z][\w-]*(?=\s*=)/)) return "math"
    if (stream.match(/^\\[a-zA-Z]+|^\\./)) return "command"
    if (!stream.match(/^\s+/) && !stream.match(/^\w+/)) stream.next()
    return null
  },
}

const latex = StreamLanguage.define(parser)
const bibtex = StreamLanguage.define(bibParser)

/** Returns the colors for a file by its name; plain text has none. */
export function language(path: string): Extension {
  const colors = syntaxHighlighting(style)
  if (/\.(?:tex|ltx|sty|cls|bbx|cbx|tikz|def|dtx)$/i.test(path)) return [latex, colors, proseOnly()]
  if (/\.bib$/i.test(path)) return [bibtex, colors, proseOnly()]
  return []
}

// @vitest-environment jsdom

import { EditorState } from "@codemirror/state"
import { EditorView } from "@codemirror/view"
import { expect, test } from "vitest"
import { language } from "./latex"

/** The text with each colored piece as `<color piece>`. */
function colored(text: string, path = "a.tex"): string {
  const view = new EditorView({
    state: EditorState.create({ doc: text, extensions: language(path) }),
  })
  const read = (node: Node): string => {
    if (node.nodeType === Node.TEXT_NODE) return node.textContent ?? ""
    const inner = [...node.childNodes].map(read).join("")
    const color = node instanceof HTMLElement ? /tex-(\w+)/.exec(node.className)?.[1] : undefined
    return color ? `<${color} ${inner}>` : inner
  }
  const lines = [...view.contentDOM.querySelectorAll(".cm-line")].map(read)
  view.destroy()
  return lines.join("\n")
}

test.each([
  ["\\section{A model}", "<command \\section><brace {><heading A model><brace }>"],
  ["\\label{sec:a} x", "<command \\label><brace {><key sec:a><brace }> x"],
  [
    "as in~\\citep[p. 3]{a,b}.",
    "as in~<command \\citep><brace [>p. 3<brace ]><brace {><key a,b><brace }>.",
  ],
  ["range~$r_{1/2}$ as", "range~<math $><math r_><math {><math 1/2><math }><math $> as"],
  ["50\\,\\% % why", "50<command \\,><command \\%> <comment % why>"],
  ["\\begin{equation} x", "<command \\begin><brace {><math equation><brace }> x"],
  ["\\verb|$%| y", "<command \\verb><key |$%|> y"],
])("%s", (text, expected) => {
  // Neighboring pieces of one color may or may not be one.
  const joined = (words: string) =>
    words.replace(/><(\w+) /g, (all, color, at, whole) => {
      const before = whole.slice(0, at).match(/<(\w+) [^<>]*$/)?.[1]
      return before === color ? "" : all
    })
  expect(joined(colored(text))).toBe(joined(expected))
})

test("only prose is checked for spelling", () => {
  const view = new EditorView({
    state: EditorState.create({ doc: "\\cite{knuth} wrote $x$", extensions: language("a.tex") }),
  })
  const unchecked = [...view.contentDOM.querySelectorAll("[spellcheck=false]")]
  expect(unchecked.map((span) => span.textContent).join(" ")).toBe("\\cite knuth $x$")
  view.destroy()
})

test("an unclosed formula ends with its paragraph", () => {
  expect(colored("a $x\n\nplain")).toMatch(/plain$/)
})

test("verbatim text is read as it stands, to its end", () => {
  const lines = colored("\\begin{verbatim}\n$ % \\x\n\\end{verbatim}\nplain").split("\n")
  expect(lines[1]).toBe("<key $ % \\x>")
  expect(lines[2]).toContain("<command \\end>")
  expect(lines[3]).toBe("plain")
})

test("a bibliography has its own colors, other files have none", () => {
  expect(colored("@article{key,", "a.bib")).toBe("<command @article><brace {><key key>,")
  expect(colored("\\section{A}", "notes.md")).toBe("\\section{A}")
})

import { expect, test } from "vitest"
import { headingAt, kept, outline } from "./outline"

/** Each heading as its depth in dots, its title, and its line. */
function check(text: string, expected: string[]) {
  const found = outline(text.split("\n"))
  expect(found.map((h) => `${".".repeat(h.depth)}${h.title}@${h.line}`)).toEqual(expected)
}

test("headings by level, from the largest that occurs", () => {
  check("\\section{A}\n\\subsection{B}\ntext\n\\section*{C}", ["A@1", ".B@2", "C@4"])
  check("\\subsection{B}\n\\paragraph{P}", ["B@1", ".P@2"])
})

test("titles read as words", () => {
  check("\\section{The \\emph{big} $x$~one}", ["The big x one@1"])
  check("\\section[short]{Long \\label{sec:a} one}", ["Long one@1"])
  check("\\section{50\\,\\% of {all}}", ["50 % of all@1"])
})

test("comments have no headings", () => {
  check("% \\section{A}\ntext % \\section{B}\n100\\% \\section{C}", ["C@3"])
  check("\\\\% \\section{A}", [])
})

test("broken markup is no trouble", () => {
  check("\\section{open\n\\section{}\n\\section", ["open@1"])
  check("\\sectionmark{x} \\section {y}", ["y@1"])
})

test("what did not change stays the same object", () => {
  const before = outline(["\\section{A}", "\\section{B}"])
  expect(kept(before, outline(["\\section{A}", "\\section{B}", "x"]))).toBe(before)
  const after = kept(before, outline(["\\section{A}", "", "\\section{B}"]))
  expect(after[0]).toBe(before[0])
  expect(after[1]).toEqual({ line: 3, depth: 0, title: "B" })
})

test("a line stands under the last heading before it", () => {
  const found = outline(["\\section{A}", "x", "\\section{B}"])
  expect([1, 2, 3, 9].map((line) => headingAt(found, line))).toEqual([0, 0, 1, 1])
  expect(headingAt([], 5)).toBe(-1)
})

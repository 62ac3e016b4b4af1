// @vitest-environment jsdom

import { expect, test, vi } from "vitest"
import { openPaper } from "./paper"
import { Stub } from "./shell-stub"

// There is no layout here, so nothing may be measured.
window.requestAnimationFrame = () => 0

const MODEL = "sections/model.tex"

async function open() {
  const stub = new Stub()
  const shell = stub.shell()
  const paper = await openPaper(shell)
  return { stub, paper, shell }
}

test("the file that was last in front is in front again, with its place", async () => {
  const { paper } = await open()
  const { active, form, caret, outline } = paper.state()
  expect(active).toBe(MODEL)
  expect(form).toBe("UTF-8, LF")
  expect(caret?.line).toBe(18)
  expect(outline.map((heading) => heading.title)).toContain("Detection model")
})

test("main.tex first, then folders, then the rest, as people order names", async () => {
  const { stub, paper } = await open()
  for (const path of ["fig10.png", "fig2.png", "a/z.png"]) stub.addBlob(path, 1, null)
  await vi.waitFor(() => expect(paper.state().files).toHaveLength(13))
  const paths = paper.state().files.map((file) => file.path)
  expect(paths.slice(0, 3)).toEqual(["main.tex", "a/z.png", "figures/range.pdf"])
  expect(paths.slice(-4)).toEqual(["fig2.png", "fig10.png", "notes.md", "references.bib"])
})

test("patches that come before their editor does are not lost", async () => {
  const { stub, paper } = await open()
  const shown = paper.show("notes.md")
  // The stub has opened the editor but its answer is not here yet.
  await vi.waitFor(() => expect(stub.calls.at(-1)).toBe("open_editor"))
  stub.type("notes.md", 0, 0, "% ")
  await shown
  await vi.waitFor(() => expect(paper.editor()?.view.state.doc.toString()).toBe("% # Notes\n"))
})

test("a file asked for twice is opened once", async () => {
  const { stub, paper } = await open()
  await Promise.all([paper.show("notes.md"), paper.show("notes.md")])
  expect(stub.calls.filter((call) => call === "open_editor")).toHaveLength(2)
  expect(paper.state().tabs).toEqual([MODEL, "notes.md"])
})

test("a file that can't be opened says why and leaves the one before it in front", async () => {
  const { stub, paper } = await open()
  stub.failNext = "notes.md is not there any more."
  await paper.show("notes.md")
  expect(paper.state().notice?.text).toBe("notes.md is not there any more.")
  expect(paper.state().tabs).toEqual([MODEL])
  await vi.waitFor(() => expect(paper.state().active).toBe(MODEL))
})

test("what is typed is unconfirmed until the replica has taken it", async () => {
  const { stub, paper } = await open()
  stub.hold()
  paper.editor()?.view.dispatch({ changes: { from: 0, insert: "x" }, userEvent: "input.type" })
  expect(paper.state().unconfirmed).toBe(1)
  stub.release()
  await vi.waitFor(() => expect(stub.text(MODEL)).toMatch(/^x/))
  await vi.waitFor(() => expect(paper.state().unconfirmed).toBe(0))
})

test("a file that somebody deleted closes and says so", async () => {
  const { stub, paper } = await open()
  stub.remove(MODEL, "Mira deleted model.tex.")
  await vi.waitFor(() => expect(paper.state().active).toBeNull())
  expect(paper.state().notice?.text).toBe("Mira deleted model.tex.")
  expect(stub.calls).not.toContain("close_editor")
})

test("people who have not moved are the same people", async () => {
  const { stub, paper } = await open()
  stub.join("m", "Mira", 0, MODEL, 5)
  await vi.waitFor(() => expect(paper.state().status.people).toHaveLength(1))
  const { people } = paper.state().status
  stub.setStatus({ unsent: 4, people: structuredClone(people) })
  await vi.waitFor(() => expect(paper.state().status.unsent).toBe(4))
  expect(paper.state().status.people).toBe(people)
})

// @vitest-environment jsdom

import { history, undo } from "@codemirror/commands"
import { type ChangeSet, EditorState, type Text } from "@codemirror/state"
import { EditorView } from "@codemirror/view"
import { expect, test, vi } from "vitest"
import type { Edit } from "../shell"
import type { OpenedEditor, Patch } from "../shell.gen"
import { type Authority, difference, fromChanges, Sync, toChanges, toText } from "./sync"

// There is no layout here, so nothing may be measured.
window.requestAnimationFrame = () => 0

/** The replica's part: takes what was made on the newest version, tells everybody. */
class Replica {
  text: Text
  version = 0
  readonly cursors: { version: number; anchor: number; head: number }[] = []
  private readonly desks = new Map<number, (version: number, patches: Patch[]) => void>()
  private last = 0

  constructor(text: string) {
    this.text = toText(text)
  }

  open(): OpenedEditor {
    return {
      editor: ++this.last,
      file: "f",
      version: this.version,
      text: this.text.toString(),
      encoding: "UTF-8",
      eol: "LF",
      head: null,
    }
  }

  listen(editor: number, desk: (version: number, patches: Patch[]) => void) {
    this.desks.set(editor, desk)
  }

  take({ editor, version, updates }: Edit) {
    if (version !== this.version) return
    for (const update of updates) this.apply(fromChanges(update, this.text.length), editor)
  }

  /** Somebody else's edit. */
  type(from: number, to: number, insert: string) {
    this.apply(fromChanges([{ from, to, insert }], this.text.length), null)
  }

  private apply(changes: ChangeSet, by: number | null) {
    this.text = changes.apply(this.text)
    const before = this.version++
    for (const [editor, desk] of this.desks) {
      desk(before, [{ own: editor === by, changes: toChanges(changes) }])
    }
  }
}

/** One window: its messages to and from the replica wait until they are let through. */
function desk(replica: Replica) {
  const out: (() => void)[] = []
  const back: (() => void)[] = []
  const problems: string[] = []
  const unconfirmed: number[] = []
  let refusal: string | null = null
  const listen = (editor: number) =>
    replica.listen(editor, (version, patches) => {
      back.push(() => {
        if (sync.id === editor) sync.receive(version, patches)
      })
    })
  const authority: Authority = {
    edit: async (edit) => {
      if (refusal !== null) {
        const problem = refusal
        refusal = null
        throw problem
      }
      out.push(() => replica.take(edit))
    },
    openEditor: async () => {
      const opened = replica.open()
      listen(opened.editor)
      return opened
    },
    closeEditor: async () => undefined,
    setCursor: async (caret) => {
      replica.cursors.push(caret)
    },
  }
  const opened = replica.open()
  const sync = new Sync(authority, opened, {
    unconfirmed: (edits) => unconfirmed.push(edits),
    problem: (problem) => problems.push(problem),
  })
  listen(opened.editor)
  const view = new EditorView({
    state: EditorState.create({
      doc: toText(opened.text),
      extensions: [sync.extension, history()],
    }),
  })
  sync.attach(view)
  return {
    view,
    problems,
    unconfirmed,
    refuse: (problem: string) => {
      refusal = problem
    },
    back,
    text: () => view.state.doc.toString(),
    type: (from: number, to: number, insert: string) =>
      view.dispatch({ changes: { from, to, insert: toText(insert) }, userEvent: "input.type" }),
    step: (way: "out" | "back") => (way === "out" ? out : back).shift()?.(),
    busy: () => out.length > 0 || back.length > 0,
    settle() {
      while (out.length > 0 || back.length > 0) {
        out.shift()?.()
        back.shift()?.()
      }
    },
  }
}

/** A small generator, so that a failure can be run again from its seed. */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return Math.floor((state / 4_294_967_296) * below)
  }
}

test("what is typed reaches the replica, in the order typed", () => {
  const replica = new Replica("ac")
  const a = desk(replica)
  a.type(1, 1, "b")
  a.type(3, 3, "d\ne")
  a.settle()
  expect(replica.text.toString()).toBe("abcd\ne")
  expect(a.text()).toBe("abcd\ne")
  expect(a.unconfirmed).toEqual([1, 2, 1, 0])
})

test("an edit on an old version is sent again, on the newest", () => {
  const replica = new Replica("one two")
  const a = desk(replica)
  replica.type(0, 3, "ONE ONE")
  a.type(7, 7, "!")
  a.settle()
  expect(replica.text.toString()).toBe("ONE ONE two!")
  expect(a.text()).toBe("ONE ONE two!")
})

test.each(Array.from({ length: 60 }, (_, seed) => seed))(
  "two desks and a disk, seed %i",
  (seed) => {
    const pick = random(seed)
    const replica = new Replica("The quick\nbrown fox\njumps")
    const desks = [desk(replica), desk(replica)] as const
    for (let step = 0; step < 120; step++) {
      const who = pick(2) === 0 ? desks[0] : desks[1]
      const length = who.view.state.doc.length
      const from = pick(length + 1)
      const to = Math.min(length, from + pick(4))
      const words = ["x", "", "two words", "\n", "é", "\r"][pick(6)] ?? ""
      switch (pick(7)) {
        case 0:
        case 1:
          who.type(from, to, words)
          break
        case 2: {
          const end = replica.text.length
          const at = pick(end + 1)
          replica.type(at, Math.min(end, at + pick(3)), words)
          break
        }
        case 3:
          who.view.dispatch({
            changes: [
              { from: 0, insert: toText(words) },
              { from: length, insert: toText("y") },
            ],
          })
          break
        default:
          who.step(pick(2) === 0 ? "out" : "back")
      }
    }
    while (desks[0].busy() || desks[1].busy()) for (const one of desks) one.settle()
    expect(desks[0].text()).toBe(replica.text.toString())
    expect(desks[1].text()).toBe(replica.text.toString())
    expect([...desks[0].problems, ...desks[1].problems]).toEqual([])
  },
)

test("undo takes back one's own edits only", () => {
  const replica = new Replica("abc")
  const a = desk(replica)
  a.type(3, 3, " mine")
  a.settle()
  replica.type(0, 0, "theirs ")
  a.settle()
  undo(a.view)
  a.settle()
  expect(replica.text.toString()).toBe("theirs abc")
  expect(undo(a.view)).toBe(false)
})

test("lost patches: the text is asked for anew and nothing typed is lost", async () => {
  const replica = new Replica("one two three")
  const a = desk(replica)
  replica.type(4, 7, "2")
  a.back.length = 0
  a.type(0, 0, "> ")
  replica.type(replica.text.length, replica.text.length, ".")
  a.settle()
  await new Promise((done) => setTimeout(done))
  a.settle()
  expect(replica.text.toString()).toBe("> one 2 three.")
  expect(a.text()).toBe("> one 2 three.")
  replica.type(0, 0, "(")
  a.type(a.view.state.doc.length, a.view.state.doc.length, ")")
  a.settle()
  expect(a.text()).toBe(replica.text.toString())
})

test("a refused edit is told, and goes out later all the same", async () => {
  vi.useFakeTimers()
  const replica = new Replica("one")
  const a = desk(replica)
  a.refuse("The paper is closing.")
  a.type(3, 3, "!")
  await vi.advanceTimersByTimeAsync(0)
  expect(a.problems).toEqual(["The paper is closing."])
  a.type(4, 4, "!")
  await vi.advanceTimersByTimeAsync(1500)
  a.settle()
  expect(replica.text.toString()).toBe("one!!")
  expect(a.text()).toBe("one!!")
  vi.useRealTimers()
})

test("patches that do not fit the text are not applied", async () => {
  const replica = new Replica("one")
  const a = desk(replica)
  a.back.push(() => undefined)
  replica.type(0, 0, "x")
  a.back.length = 0
  const wrong = replica as unknown as { desks: Map<number, (v: number, p: Patch[]) => void> }
  for (const tell of wrong.desks.values()) {
    tell(0, [{ own: false, changes: [{ from: 90, to: 99, insert: "" }] }])
  }
  a.settle()
  await new Promise((done) => setTimeout(done))
  a.settle()
  expect(a.text()).toBe("xone")
})

test("the caret is told in the text that the replica has", async () => {
  const replica = new Replica("abc")
  const a = desk(replica)
  a.type(3, 3, "d")
  a.view.dispatch({ selection: { anchor: 4 } })
  await new Promise((done) => setTimeout(done, 60))
  expect(replica.cursors).toEqual([])
  a.settle()
  await new Promise((done) => setTimeout(done, 60))
  expect(replica.cursors.at(-1)).toMatchObject({ version: 1, anchor: 4, head: 4 })
})

test.each([
  ["", "", []],
  ["abc", "abc", []],
  ["abc", "abXc", [{ from: 2, to: 2, insert: "X" }]],
  ["aaa", "aa", [{ from: 2, to: 3, insert: "" }]],
  ["abc", "", [{ from: 0, to: 3, insert: "" }]],
] as const)("the difference of %j and %j", (before, after, expected) => {
  expect(difference(before, after)).toEqual(expected)
})

test("a lone CR is a character like any other", () => {
  expect(toText("a\rb\nc").lines).toBe(2)
  expect(toText("a\rb\nc").length).toBe(5)
})

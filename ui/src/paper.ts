// The open paper as the panels see it: one immutable state, one class that changes it. Turns the
// shell's events into state and hands what belongs to an editor to that editor. Panels read this
// and nothing else; no panel reaches for another.

import { type Caret, OpenFile } from "./editor/editor"
import type { Authority } from "./editor/sync"
import { type Heading, kept, outline } from "./outline"
import { type Shell, sentence } from "./shell"
import type {
  FileEntry,
  Notice,
  OpenedEditor,
  Paper,
  ShareWhere,
  ShellEvent,
  Status,
} from "./shell.gen"

/** How long the text rests before the outline is read again. */
const OUTLINE_PAUSE_MS = 250
/** How many events may wait for an editor whose opening is under way. */
const EARLY_EVENTS = 1000

type EditorEvent = Extract<ShellEvent, { kind: "patches" | "cursors" }>

/** What the panels show. Never changed in place. */
export interface PaperState {
  readonly paper: Paper
  readonly files: readonly FileEntry[]
  readonly status: Status
  /** Edits that the replica has not confirmed, so that it can't know of them. */
  readonly unconfirmed: number
  /** When the status was told, in milliseconds since 1970. */
  readonly told: number
  /** File ids of the tabs, in order. */
  readonly tabs: readonly string[]
  /** The file in front; it may be one without an editor (a figure). */
  readonly active: string | null
  readonly caret: Caret | null
  /** "UTF-8, LF" of the file in front. */
  readonly form: string | null
  readonly outline: readonly Heading[]
  /** What happened, newest first. */
  readonly notices: readonly Notice[]
  /** What needs to be read now: the last warning, until it is put away. */
  readonly notice: Notice | null
}

/** The store of one open paper. Made by `openPaper`. */
export class PaperStore {
  private current: PaperState
  private readonly shell: Shell
  private readonly listeners = new Set<() => void>()
  private readonly editors = new Map<string, OpenFile>()
  private readonly opening = new Map<string, Promise<OpenFile | null>>()
  /** Events for editors whose opening the shell has not answered yet. */
  private readonly early = new Map<number, EditorEvent[]>()
  private asked = 0
  private readonly unconfirmed = new Map<string, number>()
  private outlineTimer: ReturnType<typeof setTimeout> | undefined

  constructor(shell: Shell, paper: Paper) {
    this.shell = shell
    this.current = {
      paper,
      files: sorted(paper.files),
      status: paper.status,
      told: Date.now(),
      unconfirmed: 0,
      tabs: [],
      active: null,
      caret: null,
      form: null,
      outline: [],
      notices: [],
      notice: null,
    }
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  readonly state = (): PaperState => this.current

  /** The editor in front, if the file in front has one. */
  editor(): OpenFile | null {
    return this.current.active === null ? null : (this.editors.get(this.current.active) ?? null)
  }

  /** Takes one event of the shell. */
  receive(event: ShellEvent) {
    switch (event.kind) {
      case "files":
        this.rename(event.files)
        this.set({ files: sorted(event.files) })
        break
      case "status":
        this.set({ status: this.withKept(event.status), told: Date.now() })
        break
      case "notice":
        this.note(event.notice)
        break
      case "patches":
      case "cursors": {
        const editor = this.byNumber(event.editor)
        if (!editor) {
          this.keep(event)
          break
        }
        this.deliverEarly(editor)
        editor.receive(event)
        break
      }
      case "editor_closed": {
        const editor = this.byNumber(event.editor)
        if (!editor) break
        this.closeTab(editor.file, false)
        this.note({ time_ms: Date.now(), level: "warn", text: event.reason, file: editor.file })
        break
      }
    }
  }

  /** Shows a file, opening it if need be, and goes to a line of it. */
  async show(file: string, line?: number) {
    const entry = this.current.files.find((f) => f.id === file)
    if (!entry) return
    if (!this.current.tabs.includes(file)) this.set({ tabs: [...this.current.tabs, file] })
    this.activate(file)
    if (entry.kind !== "text") return
    const editor = this.editors.get(file) ?? (await this.open(entry))
    if (!editor || this.current.active !== file) return
    this.activate(file)
    if (line !== undefined) editor.goToLine(line)
    else editor.view.focus()
  }

  /** Goes to a person's place, if it is known. */
  async goToPerson(id: string) {
    const person = this.current.status.people.find((p) => p.id === id)
    if (!person?.file) return
    await this.show(person.file, person.line ?? undefined)
    this.editors.get(person.file)?.showFlag(id)
  }

  closeTab(file: string, tell = true) {
    const { tabs, active } = this.current
    const at = tabs.indexOf(file)
    if (at < 0) return
    const rest = tabs.filter((tab) => tab !== file)
    const editor = this.editors.get(file)
    this.editors.delete(file)
    this.setUnconfirmed(file, 0)
    this.set({ tabs: rest })
    if (active === file) {
      const next = rest[Math.min(at, rest.length - 1)]
      if (next === undefined) this.set({ active: null, caret: null, form: null, outline: [] })
      else void this.show(next)
    }
    editor?.close(tell)
  }

  /** Makes a file and shows it. Rejects with a sentence. */
  async createFile(path: string) {
    const file = await this.shell.createFile(path)
    await this.untilListed(file)
    await this.show(file)
  }

  renameFile(file: string, path: string): Promise<void> {
    return this.shell.renameFile(file, path)
  }

  deleteFile(file: string): Promise<void> {
    return this.shell.deleteFile(file)
  }

  share(where: ShareWhere) {
    return this.shell.share(where)
  }

  stopSharing() {
    return this.shell.stopSharing()
  }

  copyText(text: string) {
    return this.shell.copyText(text)
  }

  setOffline(offline: boolean) {
    this.attempt(this.shell.setOffline(offline))
  }

  revealFolder() {
    this.attempt(this.shell.revealFolder())
  }

  putNoticeAway() {
    this.set({ notice: null })
  }

  /** Asks for what happened before this window listened. */
  async loadNotices() {
    try {
      const before = await this.shell.notices()
      // What came while asking may be in the answer as well.
      const known = new Set(before.map((notice) => JSON.stringify(notice)))
      const since = this.current.notices.filter((notice) => !known.has(JSON.stringify(notice)))
      this.set({ notices: [...since, ...before].sort((a, b) => b.time_ms - a.time_ms) })
    } catch (error) {
      this.warn(sentence(error), null)
    }
  }

  /** Shows the file that was last in front, else the one a paper most likely begins with. */
  async showFirst() {
    const { paper, files } = this.current
    const texts = files.filter((file) => file.kind === "text")
    const first =
      texts.find((file) => file.id === paper.last_file) ??
      texts.find((file) => file.path === "main.tex") ??
      texts.find((file) => /^[^/]+\.tex$/.test(file.path)) ??
      texts[0]
    if (first) await this.show(first.id)
  }

  private async open(entry: FileEntry): Promise<OpenFile | null> {
    const under = this.opening.get(entry.id)
    if (under) return under
    const opening = this.openNow(entry).finally(() => this.opening.delete(entry.id))
    this.opening.set(entry.id, opening)
    return opening
  }

  private async openNow(entry: FileEntry): Promise<OpenFile | null> {
    try {
      const opened = await this.openEditor(entry.id)
      if (!this.current.tabs.includes(entry.id)) {
        await this.shell.closeEditor(opened.editor)
        return null
      }
      const authority: Authority = {
        openEditor: (file) => this.openEditor(file),
        closeEditor: (number) => this.shell.closeEditor(number),
        edit: (edit) => this.shell.edit(edit),
        setCursor: (caret) => this.shell.setCursor(caret),
      }
      const editor = new OpenFile(authority, opened, entry.path, {
        caret: (caret) => {
          if (this.current.active === entry.id) this.set({ caret })
        },
        text: () => {
          if (this.current.active === entry.id) this.readOutlineSoon()
        },
        unconfirmed: (edits) => this.setUnconfirmed(entry.id, edits),
        problem: (problem) => this.warn(problem, entry.id),
      })
      this.editors.set(entry.id, editor)
      this.deliverEarly(editor)
      return editor
    } catch (error) {
      this.warn(sentence(error), entry.id)
      this.closeTab(entry.id)
      return null
    }
  }

  private activate(file: string) {
    const editor = this.editors.get(file)
    this.set({
      active: file,
      caret: editor?.caret() ?? null,
      form: editor ? `${editor.encoding}, ${editor.eol}` : null,
    })
    this.readOutline()
  }

  private readOutlineSoon() {
    clearTimeout(this.outlineTimer)
    this.outlineTimer = setTimeout(() => this.readOutline(), OUTLINE_PAUSE_MS)
  }

  private readOutline() {
    clearTimeout(this.outlineTimer)
    const editor = this.editor()
    const headings = editor ? outline(editor.lines()) : []
    this.set({ outline: kept(this.current.outline, headings) })
  }

  /**
   * A confirmation says that the replica has the edit, not that the disk has it. The replica tells
   * its status first, so what the status says by now is about that edit too.
   */
  private setUnconfirmed(file: string, edits: number) {
    if (edits > 0) this.unconfirmed.set(file, edits)
    else this.unconfirmed.delete(file)
    const all = [...this.unconfirmed.values()].reduce((sum, one) => sum + one, 0)
    if (all !== this.current.unconfirmed) this.set({ unconfirmed: all })
  }

  /** A status comes with each key; what it says again of people and sharing stays the same object. */
  private withKept(status: Status): Status {
    const { people, sharing } = this.current.status
    return {
      ...status,
      people: alike(people, status.people) ? people : status.people,
      sharing: alike(sharing, status.sharing) ? sharing : status.sharing,
    }
  }

  private rename(files: readonly FileEntry[]) {
    for (const { id, path } of files) {
      const before = this.current.files.find((file) => file.id === id)
      if (before && before.path !== path) this.editors.get(id)?.rename(path)
    }
  }

  private byNumber(editor: number): OpenFile | undefined {
    for (const open of this.editors.values()) if (open.editor === editor) return open
    return undefined
  }

  /** Asks for an editor; what arrives for it before the answer is kept. */
  private async openEditor(file: string): Promise<OpenedEditor> {
    this.asked++
    try {
      return await this.shell.openEditor(file)
    } finally {
      // The caller takes the answer first.
      setTimeout(() => {
        this.asked--
        for (const editor of this.editors.values()) this.deliverEarly(editor)
        if (this.asked === 0) this.early.clear()
      })
    }
  }

  private keep(event: EditorEvent) {
    // Without an opening under way it belongs to an editor that was closed here.
    if (this.asked === 0) return
    const waiting = this.early.get(event.editor) ?? []
    if (waiting.length < EARLY_EVENTS) waiting.push(event)
    this.early.set(event.editor, waiting)
  }

  private deliverEarly(editor: OpenFile) {
    const waiting = this.early.get(editor.editor)
    if (!waiting) return
    this.early.delete(editor.editor)
    for (const event of waiting) editor.receive(event)
  }

  private async untilListed(file: string) {
    if (this.current.files.some((f) => f.id === file)) return
    await new Promise<void>((resolve) => {
      const stop = this.subscribe(() => {
        if (!this.current.files.some((f) => f.id === file)) return
        stop()
        resolve()
      })
    })
  }

  private attempt(call: Promise<void>) {
    call.catch((error) => this.warn(sentence(error), null))
  }

  private warn(text: string, file: string | null) {
    // What is tried again and fails again is told once.
    const [last] = this.current.notices
    if (last?.text === text && last.file === file) return
    this.note({ time_ms: Date.now(), level: "warn", text, file })
  }

  private note(notice: Notice) {
    this.set({
      notices: [notice, ...this.current.notices],
      ...(notice.level === "info" ? {} : { notice }),
    })
  }

  private set(change: Partial<PaperState>) {
    this.current = { ...this.current, ...change }
    for (const listener of this.listeners) listener()
  }
}

/** Opens the paper of this window and shows its first file. */
export async function openPaper(shell: Shell): Promise<PaperStore> {
  let store: PaperStore | null = null
  const early: ShellEvent[] = []
  const paper = await shell.subscribe((event) => {
    if (store) store.receive(event)
    else early.push(event)
  })
  store = new PaperStore(shell, paper)
  for (const event of early) store.receive(event)
  await store.loadNotices()
  await store.showFirst()
  return store
}

function alike(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** The paper's main file first, then folders, then files; names as people order them. */
function sorted(files: readonly FileEntry[]): FileEntry[] {
  return [...files].sort((a, b) => compare(a.path.split("/"), b.path.split("/")))
}

const names = new Intl.Collator("en", { numeric: true, sensitivity: "base" })

function compare(a: readonly string[], b: readonly string[]): number {
  const rank = (path: readonly string[]) => (path.length > 1 ? 1 : path[0] === "main.tex" ? 0 : 2)
  const [name = "", ...rest] = a
  const [other = "", ...others] = b
  if (name === other) return rest.length === 0 ? 0 : compare(rest, others)
  return rank(a) - rank(b) || names.compare(name, other) || (name < other ? -1 : 1)
}

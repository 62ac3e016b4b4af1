// A shell without a program: one paper in memory, an authority as the replica is one, and a second
// person who does as told. For `npm run dev` and the page tests; not in the app's build.
// In the browser's console and in tests it is `stub`; `?window=start` shows the start window, and
// `&first` with it the first start.

import type { ChangeSet, Text } from "@codemirror/state"
import { difference, fromChanges, toChanges, toText } from "./editor/sync"
import type { Shell, WindowKind } from "./shell"
import type {
  Cursor,
  FileEntry,
  Network,
  Notice,
  Patch,
  Presence,
  RecentPaper,
  ShellEvent,
  Status,
} from "./shell.gen"
import { samplePaper } from "./stub-paper"

declare global {
  // What a page test and the console hold on to.
  var stub: Stub | undefined
}

interface Document {
  text: Text
  /** Every change ever, by version. */
  history: { changes: ChangeSet; editor: number | null }[]
}

/** The program that is not there, and the second person. */
export class Stub {
  private listen: ((event: ShellEvent) => void) | null = null
  private readonly documents = new Map<string, Document>()
  private readonly editors = new Map<number, string>()
  private readonly cursors = new Map<string, { file: string; cursor: Cursor }>()
  private files: FileEntry[] = []
  private status: Status
  private lastEditor = 0
  /** Events wait while the stub is held, so that a test can have two people type at once. */
  private held: (() => void)[] | null = null
  readonly calls: string[] = []
  person = { name: "Sana", color: 1 }
  recent: RecentPaper[] = []
  kept: Notice[] = []
  /** The sentence with which the next call fails. */
  failNext: string | null = null

  constructor() {
    for (const [path, text] of Object.entries(samplePaper.texts)) this.addFile(path, text)
    for (const [path, bytes] of Object.entries(samplePaper.blobs)) {
      this.files.push({ id: path, path, kind: "blob", bytes, note: null })
    }
    this.status = {
      saved: { kind: "saved" },
      network: { kind: "alone" },
      unsent: 0,
      received_ms: null,
      people: [],
      sharing: null,
    }
  }

  /** Somebody else replaces a range of a file, as it is now. */
  type(path: string, from: number, to: number, insert: string) {
    const document = this.document(path)
    const changes = fromChanges([{ from, to, insert }], document.text.length)
    this.apply(path, changes, null)
  }

  /** Another program writes a file. */
  write(path: string, text: string) {
    const document = this.document(path)
    const changes = fromChanges(difference(document.text.toString(), text), document.text.length)
    this.apply(path, changes, null)
  }

  /** Somebody is here, with a caret. */
  join(id: string, name: string, color: number, path: string, anchor: number, head = anchor) {
    this.cursors.set(id, { file: path, cursor: { id, name, color, anchor, head } })
    this.tellCursors(path)
    this.tellPeople()
  }

  leave(id: string) {
    const path = this.cursors.get(id)?.file
    this.cursors.delete(id)
    if (path) this.tellCursors(path)
    this.tellPeople()
  }

  setStatus(change: Partial<Status>) {
    this.status = { ...this.status, ...change }
    this.send({ kind: "status", status: this.status })
  }

  setNetwork(network: Network) {
    this.setStatus({ network })
  }

  notice(level: Notice["level"], text: string, file: string | null = null) {
    this.send({ kind: "notice", notice: { time_ms: Date.now(), level, text, file } })
  }

  /** Somebody else deletes a file. */
  remove(path: string, reason: string) {
    for (const [editor, file] of this.editors) {
      if (file === path) this.send({ kind: "editor_closed", editor, reason })
    }
    this.files = this.files.filter((file) => file.path !== path)
    this.send({ kind: "files", files: this.files })
  }

  /** Says what is wrong with a file. */
  noteFile(path: string, note: string | null) {
    this.files = this.files.map((file) => (file.path === path ? { ...file, note } : file))
    this.send({ kind: "files", files: this.files })
  }

  addBlob(path: string, bytes: number, note: string | null) {
    this.files = [...this.files, { id: path, path, kind: "blob", bytes, note }]
    this.send({ kind: "files", files: this.files })
  }

  hold() {
    this.held ??= []
  }

  release() {
    const held = this.held ?? []
    this.held = null
    for (const send of held) send()
  }

  text(path: string): string {
    return this.document(path).text.toString()
  }

  shell(): Shell {
    const answer = async <T>(name: string, value: () => T): Promise<T> => {
      await Promise.resolve()
      this.calls.push(name)
      if (this.failNext !== null) {
        const problem = this.failNext
        this.failNext = null
        throw problem
      }
      return value()
    }
    return {
      windowKind: (): WindowKind =>
        new URLSearchParams(location.search).get("window") === "start" ? "start" : "paper",
      start: () =>
        answer("start", () => ({ person: this.person, recent: this.recent, version: "0.1.0" })),
      setPerson: (person) =>
        answer("set_person", () => {
          this.person = person
        }),
      openFolder: () => answer("open_folder", () => undefined),
      openRecent: () => answer("open_recent", () => undefined),
      forgetRecent: () => answer("forget_recent", () => undefined),
      join: () => answer("join", () => undefined),
      subscribe: (listen) =>
        answer("subscribe", () => {
          this.listen = listen
          return {
            id: "0".repeat(32),
            title: samplePaper.title,
            folder: samplePaper.folder,
            me: this.person,
            files: this.files,
            status: this.status,
            last_file: samplePaper.first,
            last_head: null,
          }
        }),
      openEditor: (file) =>
        answer("open_editor", () => {
          const document = this.document(file)
          const editor = ++this.lastEditor
          this.editors.set(editor, file)
          setTimeout(() => this.tellCursors(file))
          return {
            editor,
            file,
            version: document.history.length,
            text: document.text.toString(),
            encoding: "UTF-8",
            eol: "LF",
            head: file === samplePaper.first ? samplePaper.head : null,
          }
        }),
      edit: ({ editor, version, updates }) =>
        answer("edit", () => {
          const file = this.editors.get(editor)
          if (file === undefined) throw "This file is not open any more."
          const document = this.document(file)
          // Made on an older text: the window has what it lacks under way and sends again.
          if (version !== document.history.length) return
          for (const update of updates) {
            this.apply(file, fromChanges(update, document.text.length), editor)
          }
        }),
      closeEditor: (editor) =>
        answer("close_editor", () => {
          this.editors.delete(editor)
        }),
      setCursor: () => answer("set_cursor", () => undefined),
      createFile: (path) =>
        answer("create_file", () => {
          if (this.files.some((file) => file.path === path))
            throw `There is already a file ${path}. Choose another name.`
          this.addFile(path, "")
          setTimeout(() => this.send({ kind: "files", files: this.files }))
          return path
        }),
      renameFile: (id, path) =>
        answer("rename_file", () => {
          this.files = this.files.map((file) => (file.id === id ? { ...file, path } : file))
          this.send({ kind: "files", files: this.files })
        }),
      deleteFile: (id) =>
        answer("delete_file", () => {
          const path = this.files.find((file) => file.id === id)?.path ?? id
          this.remove(path, `You deleted ${path}.`)
        }),
      setOffline: (offline) =>
        answer("set_offline", () => {
          this.setNetwork(offline ? { kind: "offline", since_ms: Date.now() } : { kind: "online" })
        }),
      share: (where) =>
        answer("share", () => {
          const here = where.kind === "here"
          const place = here ? (where.address ?? "127.0.0.1:4300") : where.url
          const sharing = {
            link: `quire://${place.replace(/^wss?:\/\//, "")}/${"0".repeat(32)}#k7Qm4xRwPz9TbL2nVc81`,
            where: here ? (where.address ?? "reached from this computer only") : place,
            here,
          }
          this.setStatus({ sharing, network: { kind: "online" }, received_ms: Date.now() })
          return sharing
        }),
      stopSharing: () =>
        answer("stop_sharing", () => {
          this.setStatus({ sharing: null, network: { kind: "alone" } })
        }),
      revealFolder: () => answer("reveal_folder", () => undefined),
      copyText: (text) => answer(`copy_text ${text}`, () => undefined),
      notices: () => answer("notices", () => this.kept),
    }
  }

  private addFile(path: string, text: string) {
    this.documents.set(path, { text: toText(text), history: [] })
    this.files = [...this.files, { id: path, path, kind: "text", bytes: text.length, note: null }]
  }

  private document(file: string): Document {
    const document = this.documents.get(file)
    if (!document) throw new Error(`There is no text ${file}.`)
    return document
  }

  private apply(file: string, changes: ChangeSet, by: number | null) {
    const document = this.document(file)
    const version = document.history.length
    document.text = changes.apply(document.text)
    document.history.push({ changes, editor: by })
    for (const place of this.cursors.values()) {
      if (place.file !== file) continue
      const { anchor, head } = place.cursor
      place.cursor = {
        ...place.cursor,
        anchor: changes.mapPos(anchor, 1),
        head: changes.mapPos(head, 1),
      }
    }
    for (const [editor, open] of this.editors) {
      if (open !== file) continue
      const patch: Patch = { own: by === editor, changes: toChanges(changes) }
      this.send({ kind: "patches", editor, version, patches: [patch] })
    }
  }

  private tellCursors(file: string) {
    const cursors = [...this.cursors.values()]
      .filter((place) => place.file === file)
      .map((place) => place.cursor)
    for (const [editor, open] of this.editors) {
      if (open !== file) continue
      const version = this.document(file).history.length
      this.send({ kind: "cursors", editor, version, cursors })
    }
  }

  private tellPeople() {
    const people: Presence[] = [...this.cursors.values()].map(({ file, cursor }) => ({
      id: cursor.id,
      me: false,
      name: cursor.name,
      color: cursor.color,
      file,
      line: this.document(file).text.lineAt(cursor.head).number,
    }))
    this.setStatus({ people })
  }

  private send(event: ShellEvent) {
    const send = () => this.listen?.(event)
    if (this.held) this.held.push(send)
    else setTimeout(send)
  }
}

function recentPapers(): RecentPaper[] {
  const day = 86_400_000
  const paper = (
    title: string,
    folder: string,
    days: number,
    shared: boolean,
    available = true,
  ) => ({
    id: folder,
    title,
    folder: `/home/sana/papers/${folder}`,
    opened_ms: Date.now() - days * day,
    available,
    shared,
  })
  return [
    paper("Counting night migrants", "night-migrants", 0, true),
    paper("Error budgets for thermal counts", "error-budgets", 1, true),
    paper("Grant report 2026", "grant-report", 27, false),
    paper("Moth traps and moonlight", "moths", 49, true, false),
  ]
}

/** Returns a shell on a new stub, which the console and page tests find as `stub`. */
export function stubShell(): Shell {
  const stub = new Stub()
  const query = new URLSearchParams(location.search)
  if (query.has("first")) stub.person = { name: "", color: 1 }
  else stub.recent = recentPapers()
  globalThis.stub = stub
  return stub.shell()
}

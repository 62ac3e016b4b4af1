// The door between the page and the program around it. `Shell` says what the page may ask;
// `tauriShell` asks it of Tauri, and nothing else in the page knows Tauri. What has no answer
// here does not exist for the page. The other implementation is `shell-stub.ts`.

import { Channel, invoke, isTauri } from "@tauri-apps/api/core"
import { getCurrentWindow } from "@tauri-apps/api/window"
import type {
  Change,
  Notice,
  OpenedEditor,
  Paper,
  Person,
  ShareWhere,
  Sharing,
  ShellEvent,
  Start,
} from "./shell.gen"

/** One batch of edits, made on `version` of an editor; each element is one version step. */
export interface Edit {
  editor: number
  version: number
  updates: Change[][]
}

/** Where a person's caret stands, in the text of `version`. */
export interface CaretAt {
  editor: number
  version: number
  anchor: number
  head: number
}

/** What a window shows. */
export type WindowKind = "start" | "paper"

/** Everything the page may ask of the program. A rejection is a sentence fit for a person. */
export interface Shell {
  windowKind(): WindowKind

  start(): Promise<Start>
  setPerson(person: Person): Promise<void>
  openFolder(): Promise<void>
  openRecent(id: string): Promise<void>
  forgetRecent(id: string): Promise<void>
  join(link: string): Promise<void>

  /** Takes the window's one stream of events; a second call ends the first. */
  subscribe(listen: (event: ShellEvent) => void): Promise<Paper>
  openEditor(file: string): Promise<OpenedEditor>
  /** Taken if made on the newest version, else ignored: the patches that are missing are under way. */
  edit(edit: Edit): Promise<void>
  closeEditor(editor: number): Promise<void>
  setCursor(caret: CaretAt): Promise<void>

  createFile(path: string): Promise<string>
  renameFile(file: string, path: string): Promise<void>
  deleteFile(file: string): Promise<void>

  setOffline(offline: boolean): Promise<void>
  share(where: ShareWhere): Promise<Sharing>
  stopSharing(): Promise<void>
  revealFolder(): Promise<void>
  copyText(text: string): Promise<void>
  notices(): Promise<Notice[]>
}

/** Returns the shell of the app, or null when the page runs in an ordinary browser. */
export function tauriShell(): Shell | null {
  if (!isTauri()) return null
  return {
    // The label is the shell's name for the window: "start", or "paper-" and a number.
    windowKind: () => (getCurrentWindow().label.startsWith("paper") ? "paper" : "start"),

    start: () => invoke("start"),
    setPerson: (person) => invoke("set_person", { person }),
    openFolder: () => invoke("open_folder"),
    openRecent: (id) => invoke("open_recent", { id }),
    forgetRecent: (id) => invoke("forget_recent", { id }),
    join: (link) => invoke("join", { link }),

    subscribe: (listen) => invoke("subscribe", { channel: new Channel<ShellEvent>(listen) }),
    openEditor: (file) => invoke("open_editor", { file }),
    edit: ({ editor, version, updates }) => invoke("edit", { editor, version, updates }),
    closeEditor: (editor) => invoke("close_editor", { editor }),
    setCursor: ({ editor, version, anchor, head }) =>
      invoke("set_cursor", { editor, version, anchor, head }),

    createFile: (path) => invoke("create_file", { path }),
    renameFile: (file, path) => invoke("rename_file", { file, path }),
    deleteFile: (file) => invoke("delete_file", { file }),

    setOffline: (offline) => invoke("set_offline", { offline }),
    share: (where) => invoke("share", { where }),
    stopSharing: () => invoke("stop_sharing"),
    revealFolder: () => invoke("reveal_folder"),
    copyText: (text) => invoke("copy_text", { text }),
    notices: () => invoke("notices"),
  }
}

/** Returns what a rejected call says, as a sentence to show. */
export function sentence(error: unknown): string {
  if (typeof error === "string") return error
  return error instanceof Error ? error.message : String(error)
}

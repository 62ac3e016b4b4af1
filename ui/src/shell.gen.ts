// Generated from src-tauri/src/shapes.rs: change it there, then run
// QUIRE_UPDATE_SHAPES=1 cargo test -p app shapes

export type Person = {
  /** The name, as typed. */
  name: string
  /** Which of the colors for people, from 0. */
  color: number
};

export type RecentPaper = {
  /** The paper's id. */
  id: string
  /** The folder's name. */
  title: string
  /** Where the folder is. */
  folder: string
  /** When it was opened last, in milliseconds since 1970. */
  opened_ms: number
  /** Is the folder there now? */
  available: boolean
  /** Was it shared when it was open last? */
  shared: boolean
};

export type Start = {
  /** Who is at this computer; an empty name if nobody said so yet. */
  person: Person
  /** The newest first. */
  recent: Array<RecentPaper>
  /** Quire's version. */
  version: string
};

export type FileEntry = {
  /** The file's id; for what is only in the folder, a name that no file has. */
  id: string
  /** Its path in the folder, with `/`. */
  path: string
  /** What it is. */
  kind: "text" | "blob" | "link"
  /** Its size on disk. */
  bytes: number
  /** Why it isn't shared, or what is wrong with it, in words. */
  note: string | null
};

export type Saved = { "kind": "saved" } | { "kind": "saving" } | { "kind": "failed"
  /** What happened and what to do. */
  problem: string
};

export type Network = { "kind": "alone" } | { "kind": "connecting" } | { "kind": "online" } | { "kind": "offline"
  /** Since when, in milliseconds since 1970. */
  since_ms: number
} | { "kind": "unreachable"
  /** Since when, in milliseconds since 1970. */
  since_ms: number
  /** Why, in words. */
  problem: string
  /** In how many milliseconds the next try is made. */
  retry_ms: number | null
} | { "kind": "refused"
  /** Why, in words. */
  problem: string
};

export type Presence = {
  /** Tells two windows of one person apart. */
  id: string
  /** Is it this window? */
  me: boolean
  /** The name. */
  name: string
  /** Which of the colors for people, from 0. */
  color: number
  /** The file that they look at. */
  file: string | null
  /** The line that their cursor is on, from 1. */
  line: number | null
};

export type Sharing = {
  /** The secret link to pass on. */
  link: string
  /** The server's address, for people's eyes. */
  where: string
  /** Does this app host it? */
  here: boolean
};

export type Status = {
  /** On this computer. */
  saved: Saved
  /** With the others. */
  network: Network
  /** How many changes the other side hasn't acknowledged as durable. */
  unsent: number
  /** When something arrived last, in milliseconds since 1970. */
  received_ms: number | null
  /** Who is there, oneself first. */
  people: Array<Presence>
  /** The link to pass on, when the paper is shared. */
  sharing: Sharing | null
};

export type Paper = {
  /** The paper's id. */
  id: string
  /** The folder's name. */
  title: string
  /** Where the folder is. */
  folder: string
  /** Who is at this computer. */
  me: Person
  /** By path. */
  files: Array<FileEntry>
  /** How it stands with saving and sending. */
  status: Status
  /** The file that was edited last. */
  last_file: string | null
  /** Where the cursor stood in it. */
  last_head: number | null
};

export type Change = {
  /** Where the replaced range starts. */
  from: number
  /** Where it ends. */
  to: number
  /** What is there instead. */
  insert: string
};

export type Patch = {
  /** Confirms the window's own edit. */
  own: boolean
  /** Sorted and apart. */
  changes: Array<Change>
};

export type Cursor = {
  /** The same as in [`Presence`]. */
  id: string
  /** The name. */
  name: string
  /** Which of the colors for people, from 0. */
  color: number
  /** The end of the selection that stays. */
  anchor: number
  /** The end that moves. */
  head: number
};

export type OpenedEditor = {
  /** Its name from now on. */
  editor: number
  /** Which file. */
  file: string
  /** The version of `text`. */
  version: number
  /** The text, with LF. */
  text: string
  /** How the file is encoded on disk. */
  encoding: string
  /** How its lines end on disk. */
  eol: string
  /** Where the cursor stood last time. */
  head: number | null
};

export type ShareWhere = { "kind": "here"
  /** The address that others reach this computer by; `None`: only this computer does. */
  address: string | null
} | { "kind": "server"
  /** Its address. */
  url: string
};

export type Notice = {
  /** When, in milliseconds since 1970. */
  time_ms: number
  /** How bad. */
  level: "info" | "warn" | "bad"
  /** What, in words. */
  text: string
  /** To which file. */
  file: string | null
};

export type ShellEvent = { "kind": "files"
  /** By path. */
  files: Array<FileEntry>
} | { "kind": "status"
  /** As it is now. */
  status: Status
} | { "kind": "patches"
  /** Whose. */
  editor: number
  /** The version before the first patch. */
  version: number
  /** One version step each. */
  patches: Array<Patch>
} | { "kind": "cursors"
  /** In which. */
  editor: number
  /** The version that the positions belong to. */
  version: number
  /** Everybody else who has the file open. */
  cursors: Array<Cursor>
} | { "kind": "notice"
  /** What. */
  notice: Notice
} | { "kind": "editor_closed"
  /** Which. */
  editor: number
  /** Why, in words. */
  reason: string
};


// Keeps one editor level with the replica, which is the authority (the CodeMirror collab protocol).
// Local transactions become edits on the newest version seen; what comes back as patches either
// confirms them or goes under them. At most one edit is under way. Knows versions and positions,
// never what the text means; carets of others are drawn in `cursors.ts`.

import { collab, getSyncedVersion, receiveUpdates, sendableUpdates } from "@codemirror/collab"
import { ChangeSet, type Extension, Text, Transaction } from "@codemirror/state"
import { EditorView } from "@codemirror/view"
import { type Shell, sentence } from "../shell"
import type { Change, Cursor, OpenedEditor, Patch } from "../shell.gen"
import { setCursors } from "./cursors"

const OWN = "own"
const OTHERS = "others"

/** How long the caret rests before others are told of it. */
const CARET_PAUSE_MS = 30
/** How long after its last event a composition is really over. */
const COMPOSITION_PAUSE_MS = 50
/** How long to wait after a refused edit before asking for the text anew: at first, and at most. */
const RETRY_MS = 1000
const RETRY_MOST_MS = 30_000

/** What a conversation tells its owner. */
export interface SyncListener {
  /** How many edits the replica has not confirmed, whenever it changes. */
  unconfirmed(edits: number): void
  problem(problem: string): void
}

/** The part of the shell that an editor talks to. */
export type Authority = Pick<Shell, "edit" | "openEditor" | "closeEditor" | "setCursor">

/** Returns text as CodeMirror keeps it. Only LF ends a line; a lone CR is a character like any other. */
export function toText(text: string): Text {
  return Text.of(text.split("\n"))
}

/** Returns a set of changes in the border's form: positions in the text before, sorted, disjoint. */
export function toChanges(changes: ChangeSet): Change[] {
  const list: Change[] = []
  changes.iterChanges((from, to, _fromB, _toB, insert) => {
    list.push({ from, to, insert: insert.toString() })
  })
  return list
}

/** Returns the border's changes as a set over a text of `length`. Throws a RangeError if they do not fit. */
export function fromChanges(changes: readonly Change[], length: number): ChangeSet {
  return ChangeSet.of(
    changes.map(({ from, to, insert }) => ({ from, to, insert: toText(insert) })),
    length,
  )
}

/** Returns the one replacement that turns `before` into `after`, without their common ends. */
export function difference(before: string, after: string): Change[] {
  if (before === after) return []
  const shorter = Math.min(before.length, after.length)
  let from = 0
  while (from < shorter && before.charCodeAt(from) === after.charCodeAt(from)) from++
  let tail = 0
  while (
    tail < shorter - from &&
    before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)
  ) {
    tail++
  }
  return [{ from, to: before.length - tail, insert: after.slice(from, after.length - tail) }]
}

/** One editor's conversation with the replica. Give `extension` to the state, then `attach` the view. */
export class Sync {
  readonly extension: Extension
  private readonly shell: Authority
  private readonly file: string
  private readonly listener: SyncListener
  private view: EditorView | null = null
  private editor: number
  /** The text at the newest version seen, that is, without edits not yet confirmed. */
  private confirmed: Text
  /** The replica's version minus collab's own count; changes only when the text was asked for anew. */
  private offset = 0
  private underWay = false
  private unconfirmed = 0
  private caretMoved = false
  /** News that waits for the end of a composition. */
  private held: (() => void)[] = []
  private caretTimer: ReturnType<typeof setTimeout> | undefined
  private retryTimer: ReturnType<typeof setTimeout> | undefined
  private asking = false
  private retryMs = RETRY_MS
  private closed = false

  constructor(shell: Authority, opened: OpenedEditor, listener: SyncListener) {
    this.shell = shell
    this.file = opened.file
    this.editor = opened.editor
    this.listener = listener
    this.confirmed = toText(opened.text)
    this.extension = [
      collab({ startVersion: opened.version, clientID: OWN }),
      EditorView.updateListener.of((update) => {
        const unconfirmed = sendableUpdates(update.state).length
        if (unconfirmed !== this.unconfirmed) {
          this.unconfirmed = unconfirmed
          listener.unconfirmed(unconfirmed)
        }
        const local = update.transactions.some((tr) => !tr.annotation(Transaction.remote))
        if (local && (update.selectionSet || update.docChanged)) this.caretMoved = true
        if (local && update.docChanged) this.push()
        else if (this.caretMoved) this.pushCaret()
      }),
      EditorView.domEventHandlers({
        // CodeMirror reads the last of the composition after this event.
        compositionend: (_event, view) => {
          setTimeout(() => {
            // The next one may have begun; its end comes here too.
            if (!view.composing) this.takeHeld()
          }, COMPOSITION_PAUSE_MS)
        },
        blur: () => {
          setTimeout(() => this.takeHeld(), COMPOSITION_PAUSE_MS)
        },
      }),
    ]
  }

  /** The number under which the replica knows this editor. */
  get id(): number {
    return this.editor
  }

  attach(view: EditorView) {
    this.view = view
    this.caretMoved = true
    this.pushCaret()
  }

  /** Takes patches; `version` is the one before the first of them. */
  receive(version: number, patches: readonly Patch[]) {
    if (!this.wait(() => this.take(version, patches), patches)) this.take(version, patches)
  }

  private take(version: number, patches: readonly Patch[]) {
    if (!this.view || this.closed || this.asking) return
    const seen = this.version(this.view) - version
    if (seen < 0) {
      void this.askAnew()
      return
    }
    const fresh = patches.slice(seen)
    if (fresh.length === 0) return

    const unconfirmed = sendableUpdates(this.view.state)
    const updates: { changes: ChangeSet; clientID: string }[] = []
    let text = this.confirmed
    try {
      for (const patch of fresh) {
        const changes = fromChanges(patch.changes, text.length)
        // An edit is taken only on the newest version, so confirmations come first and in order.
        // Anything else means that the two sides lost each other.
        const ours = patch.own ? unconfirmed[updates.length] : undefined
        if (patch.own && !(ours && sameChanges(ours.changes, changes))) {
          void this.askAnew()
          return
        }
        updates.push({ changes, clientID: patch.own ? OWN : OTHERS })
        text = changes.apply(text)
      }
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      void this.askAnew()
      return
    }
    this.confirmed = text
    this.underWay = false
    this.retryMs = RETRY_MS
    this.view.dispatch(receiveUpdates(this.view.state, updates))
    this.push()
  }

  /** Takes where the others are, in the text of `version`. */
  receiveCursors(version: number, cursors: readonly Cursor[]) {
    if (!this.wait(() => this.takeCursors(version, cursors))) this.takeCursors(version, cursors)
  }

  private takeCursors(version: number, cursors: readonly Cursor[]) {
    const view = this.view
    if (!view || this.closed || version !== this.version(view)) return
    let over: ChangeSet | null = null
    for (const { changes } of sendableUpdates(view.state)) {
      over = over ? over.compose(changes) : changes
    }
    const length = this.confirmed.length
    const place = (pos: number) => {
      const inside = Math.max(0, Math.min(pos, length))
      return over ? over.mapPos(inside, 1) : inside
    }
    view.dispatch({
      effects: setCursors.of(
        cursors.map((c) => ({ ...c, anchor: place(c.anchor), head: place(c.head) })),
      ),
    })
  }

  /** Ends the conversation; the replica forgets this editor unless it ended it itself. */
  close(tell: boolean) {
    this.closed = true
    clearTimeout(this.caretTimer)
    clearTimeout(this.retryTimer)
    if (tell) this.shell.closeEditor(this.editor).catch((e) => this.listener.problem(sentence(e)))
  }

  /**
   * Keeps news back while a character is being composed in the line that it changes: an input
   * method that finds another text under its hands doubles or drops what is typed. Returns whether
   * it did. What comes after waits behind it, so that the order stays.
   */
  private wait(take: () => void, patches: readonly Patch[] = []): boolean {
    const view = this.view
    if (this.held.length > 0) {
      this.held.push(take)
      return true
    }
    if (!view?.composing) return false
    const line = view.state.doc.lineAt(view.state.selection.main.head)
    // Positions may be off by what is unconfirmed: better to wait for nothing than to disturb.
    const slack = Math.abs(view.state.doc.length - this.confirmed.length)
    const touches = patches.some(
      (patch) =>
        !patch.own &&
        patch.changes.some((c) => c.from <= line.to + slack && c.to >= line.from - slack),
    )
    if (touches) this.held.push(take)
    return touches
  }

  private takeHeld() {
    const held = this.held
    this.held = []
    for (const take of held) take()
  }

  private version(view: EditorView): number {
    return getSyncedVersion(view.state) + this.offset
  }

  private push() {
    const view = this.view
    if (!view || this.closed || this.underWay || this.asking) return
    const updates = sendableUpdates(view.state)
    if (updates.length === 0) {
      if (this.caretMoved) this.pushCaret()
      return
    }
    this.underWay = true
    this.shell
      .edit({
        editor: this.editor,
        version: this.version(view),
        updates: updates.map((update) => toChanges(update.changes)),
      })
      .catch((error) => {
        if (this.closed) return
        this.listener.problem(sentence(error))
        this.retry()
      })
  }

  private pushCaret() {
    if (this.caretTimer !== undefined || this.closed) return
    this.caretTimer = setTimeout(() => {
      this.caretTimer = undefined
      const view = this.view
      // Positions beyond the confirmed text mean nothing yet: the confirmation calls again.
      if (!view || this.asking || sendableUpdates(view.state).length > 0) return
      this.caretMoved = false
      const { anchor, head } = view.state.selection.main
      this.shell
        .setCursor({ editor: this.editor, version: this.version(view), anchor, head })
        .catch((e) => this.listener.problem(sentence(e)))
    }, CARET_PAUSE_MS)
  }

  private retry() {
    this.retryTimer = setTimeout(() => void this.askAnew(), this.retryMs)
    this.retryMs = Math.min(this.retryMs * 2, RETRY_MOST_MS)
  }

  /** Opens the file once more and brings its text under what was typed here meanwhile. */
  private async askAnew() {
    const view = this.view
    if (!view || this.asking || this.closed) return
    this.asking = true
    try {
      const before = this.editor
      const opened = await this.shell.openEditor(this.file)
      if (this.closed) {
        await this.shell.closeEditor(opened.editor)
        return
      }
      this.editor = opened.editor
      this.shell.closeEditor(before).catch(() => {
        // The replica may have ended it already, which is all that is wanted.
      })
      const unconfirmed = sendableUpdates(view.state)
      const taken = unconfirmed.length > 0 && view.state.doc.eq(toText(opened.text))
      const updates = taken
        ? unconfirmed.map(({ changes }) => ({ changes, clientID: OWN }))
        : [
            {
              changes: fromChanges(
                difference(this.confirmed.toString(), opened.text),
                this.confirmed.length,
              ),
              clientID: OTHERS,
            },
          ]
      this.confirmed = toText(opened.text)
      view.dispatch(receiveUpdates(view.state, updates))
      this.offset = opened.version - getSyncedVersion(view.state)
      this.asking = false
      this.underWay = false
      this.push()
    } catch (error) {
      this.asking = false
      this.listener.problem(sentence(error))
      this.retry()
    }
  }
}

function sameChanges(a: ChangeSet, b: ChangeSet): boolean {
  return JSON.stringify(toChanges(a)) === JSON.stringify(toChanges(b))
}

// One open file: a CodeMirror view and its conversation with the replica. Puts the small
// extensions together; each of them is in its own file. Undo takes back one's own edits only:
// what arrives from the replica never enters the history.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands"
import { indentUnit } from "@codemirror/language"
import {
  highlightSelectionMatches,
  openSearchPanel,
  search,
  searchKeymap,
} from "@codemirror/search"
import {
  Compartment,
  EditorSelection,
  EditorState,
  type Extension,
  type StateEffect,
} from "@codemirror/state"
import {
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  rectangularSelection,
} from "@codemirror/view"
import type { OpenedEditor, ShellEvent } from "../shell.gen"
import { openFlag, remoteCursors } from "./cursors"
import { flash, flashes } from "./flash"
import { language } from "./latex"
import { type Authority, Sync, type SyncListener, toText } from "./sync"

/** Where the caret is, counted as a reader counts: from 1, in characters as they are seen. */
export interface Caret {
  readonly line: number
  readonly column: number
  /** How many characters are selected. */
  readonly selected: number
}

/** What an editor tells its owner. */
export interface EditorListener extends SyncListener {
  caret(caret: Caret): void
  text(): void
}

/** An open file, on the screen or behind another one. */
export class OpenFile {
  readonly file: string
  readonly encoding: string
  readonly eol: string
  readonly view: EditorView
  private readonly sync: Sync
  /** What depends on the file's name. */
  private readonly named = new Compartment()
  /** Brings back what was last on the screen; at first, the place of the caret. */
  private scrolled: StateEffect<unknown>

  constructor(shell: Authority, opened: OpenedEditor, path: string, listener: EditorListener) {
    this.file = opened.file
    this.encoding = opened.encoding
    this.eol = opened.eol
    this.sync = new Sync(shell, opened, listener)
    const doc = toText(opened.text)
    const head = Math.max(0, Math.min(opened.head ?? 0, doc.length))
    this.view = new EditorView({
      state: EditorState.create({
        doc,
        selection: EditorSelection.cursor(head),
        extensions: [
          this.sync.extension,
          remoteCursors(),
          this.named.of(named(path)),
          editing(),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) listener.text()
            if (update.docChanged || update.selectionSet) listener.caret(this.caret())
          }),
        ],
      }),
    })
    this.scrolled = EditorView.scrollIntoView(head, { y: "nearest", yMargin: 250 })
    this.sync.attach(this.view)
  }

  /** The number under which the replica knows this editor. */
  get editor(): number {
    return this.sync.id
  }

  /** Takes a new name of the same file. */
  rename(path: string) {
    this.view.dispatch({ effects: this.named.reconfigure(named(path)) })
  }

  /** Puts the view on the screen, as it was. */
  show(place: HTMLElement) {
    place.replaceChildren(this.view.dom)
    this.view.dispatch({ effects: this.scrolled })
    this.view.focus()
  }

  /** Takes the view from the screen; it goes on receiving. */
  hide() {
    if (!this.view.dom.isConnected) return
    this.scrolled = this.view.scrollSnapshot()
    this.view.dom.remove()
  }

  receive(event: Extract<ShellEvent, { kind: "patches" | "cursors" }>) {
    if (event.kind === "patches") this.sync.receive(event.version, event.patches)
    else this.sync.receiveCursors(event.version, event.cursors)
  }

  caret(): Caret {
    const { doc, selection } = this.view.state
    const { head, from, to } = selection.main
    const line = doc.lineAt(head)
    return {
      line: line.number,
      column: characters(doc.sliceString(line.from, head)) + 1,
      selected: from === to ? 0 : characters(doc.sliceString(from, to)),
    }
  }

  lines(): Iterable<string> {
    return this.view.state.doc.iterLines()
  }

  /** Puts the caret at the start of a line, shows it and tints it for a moment. */
  goToLine(line: number) {
    const { doc } = this.view.state
    const { from, to } = doc.line(Math.max(1, Math.min(line, doc.lines)))
    this.view.dispatch({
      selection: EditorSelection.cursor(from),
      effects: [
        EditorView.scrollIntoView(from, { y: "start", yMargin: 66 }),
        flash.of({ from, to }),
      ],
    })
    this.view.focus()
  }

  /** Opens the field for searching in this file. */
  search() {
    openSearchPanel(this.view)
  }

  /** Opens the name flag of a person whose caret is in this file. */
  showFlag(person: string) {
    this.view.dispatch({ effects: openFlag.of(person) })
  }

  /** Ends the view; tells the replica unless it was the one to end it. */
  close(tell: boolean) {
    this.sync.close(tell)
    this.view.destroy()
  }
}

/** CodeMirror's words, as this window writes its own. */
const phrases = {
  next: "Next",
  previous: "Previous",
  all: "Select all",
  "match case": "Match case",
  regexp: "Pattern",
  "by word": "Whole words",
  replace: "Replace",
  "replace all": "Replace all",
  close: "Close",
}

function characters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

function named(path: string): Extension {
  return [language(path), EditorView.contentAttributes.of({ "aria-label": path })]
}

function editing(): Extension {
  return [
    lineNumbers(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSpecialChars(),
    history(),
    flashes,
    drawSelection(),
    dropCursor(),
    rectangularSelection(),
    EditorState.allowMultipleSelections.of(true),
    EditorView.lineWrapping,
    indentUnit.of("  "),
    search({ top: true }),
    EditorState.phrases.of(phrases),
    highlightSelectionMatches(),
    keymap.of([...searchKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
    EditorView.contentAttributes.of({
      "data-testid": "editor",
      spellcheck: "true",
    }),
    // Sheets come from the tokens; only what CodeMirror sets itself is set here.
    EditorView.theme({
      "&": { height: "100%", color: "var(--ink)", background: "var(--sheet)" },
      "&.cm-focused": { outline: "none" },
    }),
  ]
}

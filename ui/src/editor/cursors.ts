// Draws where the others are: a caret in their color with a name flag, and a tint under what they
// have selected. A flag stands on the side of its caret that has no text, opens when its person
// edits there, closes after a while, and comes back under the pointer. Takes no room in the text.

import {
  EditorSelection,
  type Extension,
  StateEffect,
  StateField,
  Transaction,
} from "@codemirror/state"
import {
  Decoration,
  type DecorationSet,
  EditorView,
  type LayerMarker,
  layer,
  RectangleMarker,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view"
import { personClass } from "../people"
import type { Cursor } from "../shell.gen"

/** Replaces all carets of others; positions are in the text before the transaction. */
export const setCursors = StateEffect.define<readonly Cursor[]>()

/** Opens one person's flag, as an edit of theirs does. */
export const openFlag = StateEffect.define<string>()

const closeFlags = StateEffect.define<readonly string[]>()

/** `edits` counts what opened the flag, so that each time starts its time anew; 0 is closed. */
interface Placed extends Cursor {
  readonly edits: number
}

const placed = StateField.define<readonly Placed[]>({
  create: () => [],
  update(cursors, tr) {
    let next = cursors
    if (tr.docChanged) {
      const remote = tr.annotation(Transaction.remote) === true
      next = next.map((cursor) => {
        const anchor = tr.changes.mapPos(cursor.anchor, 1)
        const head = tr.changes.mapPos(cursor.head, 1)
        let edits = cursor.edits
        if (remote) {
          tr.changes.iterChangedRanges((_fromA, _toA, fromB, toB) => {
            if (head === toB || head === fromB) edits++
          })
        }
        return { ...cursor, anchor, head, edits }
      })
    }
    for (const effect of tr.effects) {
      if (effect.is(setCursors)) {
        const known = new Map(next.map((cursor) => [cursor.id, cursor.edits]))
        const length = tr.newDoc.length
        next = effect.value.map((cursor) => ({
          ...cursor,
          anchor: Math.min(cursor.anchor, length),
          head: Math.min(cursor.head, length),
          edits: known.get(cursor.id) ?? 1,
        }))
      } else if (effect.is(openFlag)) {
        next = next.map((c) => (c.id === effect.value ? { ...c, edits: c.edits + 1 } : c))
      } else if (effect.is(closeFlags)) {
        next = next.map((c) => (effect.value.includes(c.id) ? { ...c, edits: 0 } : c))
      }
    }
    return next
  },
  provide: (field) =>
    EditorView.decorations.from(field, (cursors): DecorationSet => {
      const marks = cursors
        .filter((c) => c.anchor !== c.head)
        .map((c) =>
          Decoration.mark({ class: `person-selection ${personClass(c.color)}` }).range(
            Math.min(c.anchor, c.head),
            Math.max(c.anchor, c.head),
          ),
        )
      return Decoration.set(marks, true)
    }),
})

type Side = "above" | "below" | "beside"

class Caret implements LayerMarker {
  private readonly place: { left: number; top: number; height: number }
  private readonly cursor: Placed
  private readonly side: Side

  constructor(place: { left: number; top: number; height: number }, cursor: Placed, side: Side) {
    this.place = place
    this.cursor = cursor
    this.side = side
  }

  eq(other: Caret): boolean {
    return (
      other.cursor.id === this.cursor.id &&
      other.cursor.name === this.cursor.name &&
      other.cursor.color === this.cursor.color &&
      other.cursor.edits > 0 === this.cursor.edits > 0 &&
      other.side === this.side &&
      other.place.left === this.place.left &&
      other.place.top === this.place.top &&
      other.place.height === this.place.height
    )
  }

  draw(): HTMLElement {
    const caret = document.createElement("div")
    caret.appendChild(document.createElement("b"))
    this.adjust(caret)
    return caret
  }

  update(dom: HTMLElement, before: Caret): boolean {
    if (before.cursor.id !== this.cursor.id) return false
    this.adjust(dom)
    return true
  }

  private adjust(dom: HTMLElement) {
    const open = this.cursor.edits > 0 ? "is-open" : ""
    dom.className = `person-caret ${personClass(this.cursor.color)} ${this.side} ${open}`
    dom.dataset.testid = "remote-caret"
    dom.style.left = `${this.place.left}px`
    dom.style.top = `${this.place.top}px`
    dom.style.height = `${this.place.height}px`
    if (dom.firstChild) dom.firstChild.textContent = this.cursor.name
  }
}

/** Returns the side of a caret where a flag covers no text, seen from what is on the screen. */
function freeSide(view: EditorView, head: number): Side {
  const caret = view.coordsAtPos(head, -1)
  if (!caret) return "below"
  const height = caret.bottom - caret.top
  const free = (y: number) => {
    const pos = view.posAtCoords({ x: caret.left, y }, false)
    const rest = view.coordsAtPos(pos, 1)
    if (!rest || rest.bottom < y - height || rest.top > y + height) return true
    const end = view.moveToLineBoundary(EditorSelection.cursor(pos, 1), true)
    const right = view.coordsAtPos(end.head, -1)
    return !right || right.left <= caret.left + 2
  }
  if (free(caret.bottom + height / 2)) return "below"
  const end = view.moveToLineBoundary(EditorSelection.cursor(head, -1), true)
  if (end.head === head) return "beside"
  return free(caret.top - height / 2) ? "above" : "below"
}

const carets = layer({
  above: true,
  class: "person-carets",
  update: (update) =>
    update.startState.field(placed) !== update.state.field(placed) ||
    update.docChanged ||
    update.geometryChanged,
  markers(view) {
    const markers: Caret[] = []
    for (const cursor of view.state.field(placed)) {
      if (cursor.head < view.viewport.from || cursor.head > view.viewport.to) continue
      // Before the character at the caret would be the next line's start at a soft break.
      const range = EditorSelection.cursor(cursor.head, cursor.head === cursor.anchor ? 1 : -1)
      const [spot] = RectangleMarker.forRange(view, "", range)
      if (!spot) continue
      const side = cursor.edits > 0 ? freeSide(view, cursor.head) : "below"
      markers.push(new Caret({ left: spot.left, top: spot.top, height: spot.height }, cursor, side))
    }
    return markers
  },
})

/** Returns the duration that a token names, in milliseconds. */
function duration(token: string): number {
  const value = getComputedStyle(document.documentElement).getPropertyValue(token).trim()
  const number = Number.parseFloat(value) || 0
  return value.endsWith("ms") ? number : number * 1000
}

const flagTimes = ViewPlugin.fromClass(
  class {
    private readonly view: EditorView
    private readonly timers = new Map<
      string,
      { edits: number; timer: ReturnType<typeof setTimeout> }
    >()

    constructor(view: EditorView) {
      this.view = view
    }

    update(update: ViewUpdate) {
      const cursors = update.state.field(placed)
      if (cursors === update.startState.field(placed)) return
      for (const { id, edits } of cursors) {
        const running = this.timers.get(id)
        if (edits === 0 || running?.edits === edits) continue
        if (running) clearTimeout(running.timer)
        const timer = setTimeout(() => {
          this.timers.delete(id)
          this.view.dispatch({ effects: closeFlags.of([id]) })
        }, duration("--time-flag"))
        this.timers.set(id, { edits, timer })
      }
    }

    destroy() {
      for (const { timer } of this.timers.values()) clearTimeout(timer)
    }
  },
  {
    eventHandlers: {
      mousemove(event, view) {
        const pos = view.posAtCoords({ x: event.clientX, y: event.clientY })
        if (pos === null) return
        const near = view.state
          .field(placed)
          .find((c) => c.edits === 0 && Math.abs(c.head - pos) <= 1)
        if (near) view.dispatch({ effects: openFlag.of(near.id) })
      },
    },
  },
)

/** Returns what an editor needs to show the others' carets. */
export function remoteCursors(): Extension {
  return [placed, carets, flagTimes]
}

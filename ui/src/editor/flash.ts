// Tints a passage for a moment after a jump, so that the eye finds it.

import { StateEffect, StateField } from "@codemirror/state"
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view"

/** Tints a passage; positions are in the text after the transaction. */
export const flash = StateEffect.define<{ from: number; to: number }>()

const mark = Decoration.line({ class: "flash" })

/** Keeps the last tinted passage; the fading itself is an animation in `style/quire.css`. */
export const flashes = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, tr) {
    let next = marks.map(tr.changes)
    // What is typed ends the tint at once.
    if (tr.docChanged) next = Decoration.none
    for (const effect of tr.effects) {
      if (effect.is(flash)) next = Decoration.set(mark.range(effect.value.from))
    }
    return next
  },
  provide: (field) => EditorView.decorations.from(field),
})

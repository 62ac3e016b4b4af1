// Keeps the system's spell checker to the prose: commands, keys and formulas are no words.

import { syntaxTree } from "@codemirror/language"
import type { Extension, Range } from "@codemirror/state"
import { Decoration, type DecorationSet, type EditorView, ViewPlugin } from "@codemirror/view"

const NOT_PROSE = new Set(["command", "key", "math"])
const unchecked = Decoration.mark({ attributes: { spellcheck: "false" } })

function marks(view: EditorView): DecorationSet {
  const found: Range<Decoration>[] = []
  for (const { from, to } of view.visibleRanges) {
    syntaxTree(view.state).iterate({
      from,
      to,
      enter: (node) => {
        if (NOT_PROSE.has(node.name)) found.push(unchecked.range(node.from, node.to))
      },
    })
  }
  return Decoration.set(found)
}

/** Returns what an editor with a language needs so that only its prose is checked. */
export function proseOnly(): Extension {
  return ViewPlugin.define(
    (view) => {
      let decorations = marks(view)
      let tree = syntaxTree(view.state)
      return {
        get decorations() {
          return decorations
        },
        update(update) {
          const now = syntaxTree(update.state)
          if (update.docChanged || update.viewportChanged || now !== tree) {
            tree = now
            decorations = marks(update.view)
          }
        },
      }
    },
    { decorations: (plugin) => plugin.decorations },
  )
}

// The headings of the file in front; where you are has a bar, where others are a dot. A book has
// thousands of them and the caret moves with each key, so a row is drawn again only when it changes.

import { type KeyboardEvent, memo, useCallback, useRef } from "react"
import { type Heading, headingAt } from "../outline"
import { personClass } from "../people"
import type { Presence } from "../shell.gen"
import { usePaper, usePaperState } from "./use-paper"

export function Outline() {
  const paper = usePaper()
  const headings = usePaperState((state) => state.outline)
  const here = usePaperState(({ outline, caret }) => (caret ? headingAt(outline, caret.line) : -1))
  const active = usePaperState((state) => state.active)
  const people = usePaperState((state) => state.status.people)
  const list = useRef<HTMLUListElement>(null)

  const others = new Map<number, Presence[]>()
  for (const person of people) {
    if (person.me || person.file !== active || person.line === null) continue
    const at = headingAt(headings, person.line)
    others.set(at, [...(others.get(at) ?? []), person])
  }

  const go = useCallback((line: number) => paper.editor()?.goToLine(line), [paper])

  const onKeyDown = (event: KeyboardEvent) => {
    const rows = [...(list.current?.querySelectorAll("button") ?? [])]
    const at = rows.indexOf(document.activeElement as HTMLButtonElement)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key]
    if (to === undefined || at < 0) return
    event.preventDefault()
    rows[to]?.focus()
  }

  return (
    <section aria-label="Outline" className="outline fold">
      <h2 className="side-head">Outline</h2>
      {headings.length === 0 ? (
        <p className="none soft">No headings in this file.</p>
      ) : (
        <ul ref={list} onKeyDown={onKeyDown} data-testid="outline">
          {headings.map((heading, index) => (
            <Row
              // biome-ignore lint/suspicious/noArrayIndexKey: two headings may be alike; their order names them.
              key={index}
              heading={heading}
              here={index === here}
              // One row takes the Tab key; the arrows reach the rest.
              reached={index === Math.max(here, 0)}
              others={others.get(index)}
              go={go}
            />
          ))}
        </ul>
      )}
    </section>
  )
}

interface RowProps {
  heading: Heading
  here: boolean
  reached: boolean
  others: readonly Presence[] | undefined
  go: (line: number) => void
}

const Row = memo(function Row({ heading, here, reached, others, go }: RowProps) {
  return (
    <li>
      <button
        type="button"
        className={`row ${here ? "here" : ""}`}
        style={{ "--depth": heading.depth } as React.CSSProperties}
        tabIndex={reached ? 0 : -1}
        aria-current={here ? "location" : undefined}
        onClick={() => go(heading.line)}
      >
        <span className={`cut ${here ? "strong" : ""}`}>{heading.title}</span>
        <span className="pips">
          {others?.map((person) => (
            <span
              key={person.id}
              className={`pip ${personClass(person.color)}`}
              title={`${person.name} is here`}
            />
          ))}
        </span>
      </button>
    </li>
  )
})

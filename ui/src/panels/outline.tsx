// The headings of the file in front; where you are has a bar, where others are a dot.

import { ListBox, ListBoxItem } from "react-aria-components"
import { headingAt } from "../outline"
import { personClass } from "../people"
import { usePaper, usePaperState } from "./use-paper"

export function Outline() {
  const paper = usePaper()
  const headings = usePaperState((state) => state.outline)
  const caret = usePaperState((state) => state.caret)
  const active = usePaperState((state) => state.active)
  const people = usePaperState((state) => state.status.people)
  const here = caret ? headingAt(headings, caret.line) : -1
  const places = people
    .filter((person) => !person.me && person.file === active && person.line !== null)
    .map((person) => ({ person, at: headingAt(headings, person.line ?? 0) }))
  return (
    <section aria-label="Outline" className="outline fold">
      <h2 className="side-head">Outline</h2>
      {headings.length === 0 ? (
        <p className="none soft">No headings in this file.</p>
      ) : (
        <ListBox
          aria-label="Outline"
          onAction={(key) => {
            const heading = headings[Number(key)]
            if (heading) paper.editor()?.goToLine(heading.line)
          }}
        >
          {headings.map((heading, index) => (
            <ListBoxItem
              // biome-ignore lint/suspicious/noArrayIndexKey: two headings may be alike; their order names them.
              key={index}
              id={index}
              textValue={heading.title}
              className={`row ${index === here ? "here" : ""}`}
              style={{ "--depth": heading.depth } as React.CSSProperties}
            >
              <span className={`cut ${index === here ? "strong" : ""}`}>{heading.title}</span>
              <span className="pips">
                {places
                  .filter(({ at }) => at === index)
                  .map(({ person }) => (
                    <span
                      key={person.id}
                      className={`pip ${personClass(person.color)}`}
                      title={`${person.name} is here`}
                    />
                  ))}
              </span>
            </ListBoxItem>
          ))}
        </ListBox>
      )}
    </section>
  )
}

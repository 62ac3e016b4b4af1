// Who is here and where; pressing a person goes to their caret.

import { Button } from "react-aria-components"
import type { Presence } from "../shell.gen"
import { whereabouts } from "../words"
import { Face } from "./face"
import { usePaper, usePaperState } from "./use-paper"

/** Yourself first, then the others by name. */
export function inOrder(people: readonly Presence[]): Presence[] {
  return [...people].sort((a, b) => Number(b.me) - Number(a.me) || a.name.localeCompare(b.name))
}

export function People() {
  const paper = usePaper()
  const people = usePaperState((state) => state.status.people)
  const me = usePaperState((state) => state.paper.me)
  const active = usePaperState((state) => state.active)
  const files = usePaperState((state) => state.files)
  const caret = usePaperState((state) => state.caret)
  const others = inOrder(people).filter((person) => !person.me)
  return (
    <section aria-label="People here" className="people fold">
      <h2 className="side-head">People here</h2>
      <ul data-testid="people">
        <li className="row person">
          <Face name={me.name} color={me.color} size="small" />
          <span>You</span>
          <span className="push faint xs">{caret ? `line ${caret.line}` : ""}</span>
        </li>
        {others.map((person) => (
          <li key={person.id} data-testid="person">
            <Button
              className="row person"
              isDisabled={person.file === null}
              onPress={() => void paper.goToPerson(person.id)}
            >
              <Face name={person.name} color={person.color} size="small" />
              <span className="cut">{person.name}</span>
              <span className="push faint xs">{whereabouts(person, active, files)}</span>
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}

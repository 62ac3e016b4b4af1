// The bar that never lies and never moves: saved, sent, received, people, always in this order;
// then the switch "Work offline", and where the caret is.

import { Switch } from "react-aria-components"
import type { Status } from "../shell.gen"
import {
  count,
  type Place,
  peoplePlace,
  receivedPlace,
  savedPlace,
  sentPlace,
  type Tone,
  withUnconfirmed,
} from "../words"
import { Icon, type IconName } from "./icons"
import { useNow } from "./use-now"
import { usePaper, usePaperState } from "./use-paper"

const TONES: Record<Tone, string> = { plain: "", good: "good", wait: "alert", bad: "alert bad" }

interface StatusPlaceProps {
  id: string
  icon: IconName
  place: Place
  state: string
  count?: number
}

function StatusPlace({ id, icon, place, state, count }: StatusPlaceProps) {
  return (
    <span
      className={`place ${id} ${TONES[place.tone]}`}
      data-testid={`status-${id}`}
      data-state={state}
      data-count={count}
    >
      <Icon name={icon} />
      {place.text}
    </span>
  )
}

function Places({ status }: { status: Status }) {
  const now = useNow()
  const { saved, network, unsent, received_ms, people } = status
  return (
    <>
      <StatusPlace id="saved" icon="disk" place={savedPlace(saved)} state={saved.kind} />
      <StatusPlace
        id="sent"
        icon="up"
        place={sentPlace(status)}
        state={network.kind}
        count={unsent}
      />
      <StatusPlace
        id="received"
        icon="down"
        place={receivedPlace(status, now)}
        state={received_ms === null ? "never" : "received"}
      />
      <StatusPlace
        id="people"
        icon="people"
        place={peoplePlace(people)}
        state={network.kind}
        count={people.filter((person) => !person.me).length}
      />
    </>
  )
}

export function StatusBar() {
  const paper = usePaper()
  const told = usePaperState((state) => state.status)
  const unconfirmed = usePaperState((state) => state.unconfirmed)
  const status = withUnconfirmed(told, unconfirmed)
  const caret = usePaperState((state) => state.caret)
  const form = usePaperState((state) => state.form)
  const { kind } = status.network
  return (
    <footer className="status" data-stop>
      <Places status={status} />
      {kind !== "alone" && (
        <Switch
          className="switch"
          isSelected={kind === "offline"}
          onChange={(offline) => paper.setOffline(offline)}
          data-testid="offline-switch"
        >
          <span className="track" aria-hidden="true" />
          Work offline
        </Switch>
      )}
      <span className="push" />
      {caret && (
        <span data-testid="status-caret">
          Line {caret.line}, column {caret.column}
          {caret.selected > 0 && `, ${count(caret.selected, "character")} selected`}
        </span>
      )}
      {form && <span data-testid="status-form">{form}</span>}
    </footer>
  )
}

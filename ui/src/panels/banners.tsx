// What must be read now, above the window's body, which it pushes down: the worst trouble there
// is, and the last warning until it is put away.

import { Button } from "react-aria-components"
import { trouble } from "../words"
import { Icon } from "./icons"
import { useNow } from "./use-now"
import { usePaper, usePaperState } from "./use-paper"

export function Banners({ onWhatHappened }: { onWhatHappened: () => void }) {
  return (
    <div className="banners">
      <TroubleBanner />
      <NoticeBanner onWhatHappened={onWhatHappened} />
    </div>
  )
}

function TroubleBanner() {
  const paper = usePaper()
  const status = usePaperState((state) => state.status)
  const told = usePaperState((state) => state.told)
  const now = useNow()
  const worst = trouble(status, told, now)
  if (!worst) return null
  const { tone, fact, meaning, next, action } = worst
  const icon = tone === "bad" ? "stop" : status.network.kind === "offline" ? "offline" : "server"
  return (
    <div className={`banner ${tone === "bad" ? "bad" : ""}`} data-testid="trouble">
      <Icon name={icon} />
      <p>
        <span role="alert">
          <span className="strong">{fact}</span> <span className="then">{meaning}</span>
        </span>{" "}
        <span className="then">{next}</span>
      </p>
      {action === "go-online" && (
        <Button className="btn push" onPress={() => paper.setOffline(false)}>
          Go online
        </Button>
      )}
    </div>
  )
}

function NoticeBanner({ onWhatHappened }: { onWhatHappened: () => void }) {
  const paper = usePaper()
  const notice = usePaperState((state) => state.notice)
  if (!notice) return null
  return (
    <div className={`banner ${notice.level === "bad" ? "bad" : ""}`} data-testid="notice">
      <Icon name={notice.level === "bad" ? "stop" : "warn"} />
      <p role="alert">{notice.text}</p>
      <span className="push acts">
        <Button className="btn" onPress={onWhatHappened}>
          What happened
        </Button>
        <Button className="btn bare icon" aria-label="Close" onPress={() => paper.putNoticeAway()}>
          <Icon name="close" />
        </Button>
      </span>
    </div>
  )
}

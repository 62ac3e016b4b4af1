// The list of what happened to the paper, newest first; nothing leaves it by itself.

import { Button } from "react-aria-components"
import { clock } from "../words"
import { Icon, type IconName } from "./icons"
import { useNow } from "./use-now"
import { usePaper, usePaperState } from "./use-paper"

const ICONS: Record<"info" | "warn" | "bad", IconName> = { info: "info", warn: "warn", bad: "stop" }

export function WhatHappened({ onClose }: { onClose: () => void }) {
  const paper = usePaper()
  const notices = usePaperState((state) => state.notices)
  const files = usePaperState((state) => state.files)
  const now = useNow()
  return (
    <section className="lower" aria-label="What happened" data-stop tabIndex={-1}>
      <div className="bar">
        <h2 className="tab on">What happened</h2>
        <Button className="btn bare icon push" aria-label="Close What happened" onPress={onClose}>
          <Icon name="close" />
        </Button>
      </div>
      {notices.length === 0 ? (
        <div className="empty">
          <p className="strong">Nothing happened so far</p>
          <p className="soft">Edits by other programs and trouble with files are listed here.</p>
        </div>
      ) : (
        <ul data-testid="what-happened">
          {notices.map((notice, place) => {
            const file = files.find((f) => f.id === notice.file)
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: the list grows at its head, so the distance from its end names a row.
              <li className="hap" key={notices.length - place}>
                <time dateTime={new Date(notice.time_ms).toISOString()}>
                  {clock(notice.time_ms, now)}
                </time>
                <span className={notice.level === "info" ? "faint" : notice.level}>
                  <Icon name={ICONS[notice.level]} />
                </span>
                <span>{notice.text}</span>
                {file && (
                  <Button className="btn bare tiny" onPress={() => void paper.show(file.id)}>
                    Show {file.path.split("/").at(-1)}
                  </Button>
                )}
              </li>
            )
          })}
        </ul>
      )}
    </section>
  )
}

// Papers opened before; one that is not there any more says so.

import { Button } from "react-aria-components"
import { Icon, type IconName } from "../panels/icons"
import { useNow } from "../panels/use-now"
import type { RecentPaper } from "../shell.gen"
import { opened } from "../words"

interface RecentPapersProps {
  papers: readonly RecentPaper[]
  search: string
  onOpen: (id: string) => void
  onForget: (id: string) => void
}

export function RecentPapers({ papers, search, onOpen, onForget }: RecentPapersProps) {
  const now = useNow()
  if (papers.length === 0) {
    return (
      <div className="no-papers">
        <p className="strong">No papers yet</p>
        <p className="soft">
          Open the folder of a paper at the left, or paste a link that a co-author sent you.
        </p>
      </div>
    )
  }
  const wanted = search.trim().toLocaleLowerCase()
  const found = papers.filter((paper) =>
    `${paper.title} ${paper.folder}`.toLocaleLowerCase().includes(wanted),
  )
  if (found.length === 0) return <p className="soft">No paper has “{search.trim()}” in its name.</p>
  return (
    <ul className="papers">
      {found.map((paper) => (
        <li className="paper" key={paper.id} data-testid="recent">
          <Button
            className="paper-open"
            onPress={() => onOpen(paper.id)}
            isDisabled={!paper.available}
          >
            <Thumb seed={paper.title} />
            <span className="names">
              <b className="cut">{paper.title}</b>
              <span className="soft cut">
                {paper.folder} · {opened(paper.opened_ms, now)}
              </span>
            </span>
            <State paper={paper} />
          </Button>
          <Button
            className="btn bare icon forget"
            aria-label={`Take ${paper.title} off this list`}
            onPress={() => onForget(paper.id)}
          >
            <Icon name="close" />
          </Button>
        </li>
      ))}
    </ul>
  )
}

function State({ paper }: { paper: RecentPaper }) {
  const [icon, tone, words]: [IconName, string, string] = !paper.available
    ? ["stop", "bad", "The folder is not there. Moved, or on a drive that is unplugged?"]
    : paper.shared
      ? ["people", "shared", "Shared"]
      : ["disk", "faint", "On this computer, not shared"]
  return (
    <span className="state">
      <span className={tone}>
        <Icon name={icon} />
      </span>
      <span>{words}</span>
    </span>
  )
}

/** A little sheet of paper; its lines differ from title to title and mean nothing. */
function Thumb({ seed }: { seed: string }) {
  const lines = Array.from({ length: 9 }, (_, at) => {
    const letter = seed.charCodeAt((at * 7) % Math.max(1, seed.length)) || 0
    return at === 0 ? 50 + (letter % 24) : 74 + (letter % 15)
  })
  return (
    <span className="thumb" aria-hidden="true">
      {lines.map((width, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: nine lines, always the same nine.
        <i key={at} style={{ width: `${width}%` }} />
      ))}
    </span>
  )
}

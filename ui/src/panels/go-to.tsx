// One field that goes anywhere: files by name, headings of the file in front, the few commands.

import { useState } from "react"
import {
  Autocomplete,
  Dialog,
  Header,
  Input,
  ListBox,
  ListBoxItem,
  ListBoxSection,
  Modal,
  ModalOverlay,
  TextField,
  useFilter,
} from "react-aria-components"
import { fileIcon, Icon, type IconName } from "./icons"
import { usePaper, usePaperState } from "./use-paper"

/** How many of a kind are shown. */
const MOST = 40

interface Target {
  id: string
  name: string
  hint: string
  icon: IconName
  go: () => void
}

interface GoToProps {
  onShare: () => void
  onWhatHappened: () => void
  onClose: () => void
}

export function GoTo({ onShare, onWhatHappened, onClose }: GoToProps) {
  const paper = usePaper()
  const files = usePaperState((state) => state.files)
  const headings = usePaperState((state) => state.outline)
  const network = usePaperState((state) => state.status.network)
  const { contains } = useFilter({ sensitivity: "base" })
  const [words, setWords] = useState("")

  const everything: { name: string; targets: Target[] }[] = [
    {
      name: "Files",
      targets: files.map((file) => ({
        id: file.id,
        name: file.path,
        hint: "",
        icon: fileIcon(file.path),
        go: () => void paper.show(file.id),
      })),
    },
    {
      name: "Sections of this file",
      targets: headings.map((heading) => ({
        id: `line ${heading.line}`,
        name: heading.title,
        hint: `line ${heading.line}`,
        icon: "heading",
        go: () => paper.editor()?.goToLine(heading.line),
      })),
    },
    {
      name: "Commands",
      targets: [
        { id: "share", name: "Share this paper", hint: "", icon: "people", go: onShare },
        {
          id: "happened",
          name: "Show what happened",
          hint: "",
          icon: "lower",
          go: onWhatHappened,
        },
        {
          id: "folder",
          name: "Show the folder",
          hint: "",
          icon: "folder",
          go: () => paper.revealFolder(),
        },
        ...(network.kind === "alone"
          ? []
          : [
              {
                id: "offline",
                name: network.kind === "offline" ? "Go online" : "Work offline",
                hint: "",
                icon: "offline" as const,
                go: () => paper.setOffline(network.kind !== "offline"),
              },
            ]),
      ],
    },
  ]
  // A book has thousands of headings; who does not find theirs among the first types on.
  const groups = everything
    .map(({ name, targets }) => ({
      name,
      targets: targets.filter((target) => contains(target.name, words)).slice(0, MOST),
    }))
    .filter((group) => group.targets.length > 0)
  const all = groups.flatMap((group) => group.targets)

  return (
    <ModalOverlay
      className="veil high"
      isOpen
      isDismissable
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
    >
      <Modal className="goto-box">
        <Dialog aria-label="Go to" data-testid="go-to">
          <Autocomplete inputValue={words} onInputChange={setWords}>
            <TextField aria-label="Go to file, section or command" autoFocus className="goto-field">
              <Icon name="search" />
              <Input placeholder="Go to file, section or command" />
            </TextField>
            <ListBox
              aria-label="Places"
              className="goto-list"
              onAction={(key) => {
                onClose()
                all.find((target) => target.id === key)?.go()
              }}
              renderEmptyState={() => <p className="none soft">Nothing has this in its name.</p>}
            >
              {groups.map((group) => (
                <ListBoxSection key={group.name}>
                  <Header className="goto-head">{group.name}</Header>
                  {group.targets.map((target) => (
                    <ListBoxItem
                      key={target.id}
                      id={target.id}
                      textValue={target.name}
                      className="menu-item"
                    >
                      <Icon name={target.icon} />
                      <span className="cut">{target.name}</span>
                      <span className="push faint xs">{target.hint}</span>
                    </ListBoxItem>
                  ))}
                </ListBoxSection>
              ))}
            </ListBox>
          </Autocomplete>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

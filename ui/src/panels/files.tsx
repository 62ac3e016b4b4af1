// The paper's files as a tree, and what can be done to them. Deleting asks first, since it takes
// the file from everybody.

import { type KeyboardEvent, useMemo, useState } from "react"
import {
  Button,
  Menu,
  MenuItem,
  MenuTrigger,
  Popover,
  Separator,
  Tree,
  TreeItem,
  TreeItemContent,
} from "react-aria-components"
import { fileTree, folders, type Node } from "../file-tree"
import { personClass } from "../people"
import type { FileEntry } from "../shell.gen"
import { DeleteFileDialog, FileNameDialog } from "./file-dialogs"
import { fileIcon, Icon } from "./icons"
import { usePaper, usePaperState } from "./use-paper"

type Ask = { kind: "new"; under: string } | { kind: "rename" | "delete"; entry: FileEntry }

export function Files() {
  const paper = usePaper()
  const files = usePaperState((state) => state.files)
  const nodes = useMemo(() => fileTree(files), [files])
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const [ask, setAsk] = useState<Ask | null>(null)
  const all = folders(nodes)

  const onKeyDown = (event: KeyboardEvent) => {
    const row = document.activeElement?.closest<HTMLElement>("[data-file]")
    const entry = files.find((file) => file.id === row?.dataset.file)
    if (!entry) return
    if (event.key === "F2") setAsk({ kind: "rename", entry })
    else if (event.key === "Delete") setAsk({ kind: "delete", entry })
    else return
    event.preventDefault()
  }

  return (
    <section aria-label="Files" className="files">
      <div className="side-head">
        <h2>Files</h2>
        <Button
          className="btn bare icon push"
          aria-label="New file"
          data-testid="new-file"
          onPress={() => setAsk({ kind: "new", under: "" })}
        >
          <Icon name="plus" />
        </Button>
      </div>
      {files.length === 0 ? (
        <div className="none">
          <p className="strong">No files yet</p>
          <p className="soft">Make one with +, or put a .tex file into the folder.</p>
        </div>
      ) : (
        // biome-ignore lint/a11y/noStaticElementInteractions: the keys belong to the rows inside.
        <div onKeyDown={onKeyDown} className="tree">
          <Tree
            aria-label="Files"
            data-testid="files"
            expandedKeys={all.filter((path) => !closed.has(path))}
            onExpandedChange={(keys) => setClosed(new Set(all.filter((path) => !keys.has(path))))}
            onAction={(key) => {
              const id = String(key)
              if (files.some((file) => file.id === id)) void paper.show(id)
              else setClosed((before) => toggled(before, id))
            }}
          >
            {nodes.map((node) => (
              <Row key={idOf(node)} node={node} depth={0} onAsk={setAsk} />
            ))}
          </Tree>
        </div>
      )}
      {ask && ask.kind === "delete" && (
        <DeleteFileDialog entry={ask.entry} onClose={() => setAsk(null)} />
      )}
      {ask && ask.kind !== "delete" && <FileNameDialog ask={ask} onClose={() => setAsk(null)} />}
    </section>
  )
}

interface RowProps {
  node: Node
  depth: number
  onAsk: (ask: Ask) => void
}

function Row({ node, depth, onAsk }: RowProps) {
  const active = usePaperState((state) => state.active)
  const style = { "--depth": depth } as React.CSSProperties
  if (node.kind === "folder") {
    return (
      <TreeItem id={node.path} textValue={node.name} className="row" style={style}>
        <TreeItemContent>
          {({ isExpanded }) => (
            <>
              <Button slot="chevron" className={`chev ${isExpanded ? "" : "closed"}`}>
                <Icon name="chevron" />
              </Button>
              <Icon name="folder" />
              <span className="cut">{node.name}</span>
            </>
          )}
        </TreeItemContent>
        {node.children.map((child) => (
          <Row key={idOf(child)} node={child} depth={depth + 1} onAsk={onAsk} />
        ))}
      </TreeItem>
    )
  }
  const { entry } = node
  const shown = entry.id === active
  return (
    <TreeItem
      id={entry.id}
      textValue={node.name}
      aria-label={shown ? `${node.name}, shown` : node.name}
      className={`row ${shown ? "on" : ""}`}
      style={style}
      data-file={entry.id}
      data-testid={`file:${entry.path}`}
    >
      <TreeItemContent>
        <span className="gap" />
        <Icon name={fileIcon(entry.path)} />
        <span className="cut">{node.name}</span>
        {entry.note && (
          <span className="warn" title={entry.note}>
            <Icon name="warn" />
          </span>
        )}
        <Pips file={entry.id} />
        <MenuTrigger>
          <Button className="btn bare icon row-menu" aria-label={`What to do with ${node.name}`}>
            <Icon name="more" />
          </Button>
          <Popover placement="bottom end" className="popover">
            <Menu
              className="menu"
              onAction={(key) => onAsk({ kind: key === "delete" ? "delete" : "rename", entry })}
            >
              <MenuItem id="rename" className="menu-item" textValue="Rename">
                <Icon name="pencil" />
                Rename <kbd className="push">F2</kbd>
              </MenuItem>
              <Separator className="menu-rule" />
              <MenuItem id="delete" className="menu-item bad" textValue="Delete for everybody">
                <Icon name="close" />
                Delete for everybody
              </MenuItem>
            </Menu>
          </Popover>
        </MenuTrigger>
      </TreeItemContent>
    </TreeItem>
  )
}

function Pips({ file }: { file: string }) {
  const people = usePaperState((state) => state.status.people)
  const here = people.filter((person) => !person.me && person.file === file)
  if (here.length === 0) return null
  return (
    <span className="pips">
      {here.map((person) => (
        <span
          key={person.id}
          className={`pip ${personClass(person.color)}`}
          title={`${person.name} is here`}
        />
      ))}
    </span>
  )
}

function idOf(node: Node): string {
  return node.kind === "folder" ? node.path : node.entry.id
}

function toggled(set: ReadonlySet<string>, value: string): Set<string> {
  const next = new Set(set)
  if (!next.delete(value)) next.add(value)
  return next
}

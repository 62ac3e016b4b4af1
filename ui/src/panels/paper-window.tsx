// The paper window: bars, panels and dialogs in their places, and the keys that work everywhere.

import { useEffect, useRef, useState } from "react"
import {
  Button,
  Header,
  Menu,
  MenuItem,
  Separator as MenuRule,
  MenuSection,
  MenuTrigger,
  Popover,
  ToggleButton,
} from "react-aria-components"
import { Group, type Layout, Panel, Separator } from "react-resizable-panels"
import type { PaperStore } from "../paper"
import { type Appearance, appearance, setAppearance } from "../theme"
import { Banners } from "./banners"
import { EditorPane } from "./editor-pane"
import { Face } from "./face"
import { Files } from "./files"
import { GoTo } from "./go-to"
import { Icon, Mark } from "./icons"
import { Outline } from "./outline"
import { inOrder, People } from "./people"
import { Share } from "./share"
import { StatusBar } from "./status-bar"
import { PaperContext, usePaper, usePaperState } from "./use-paper"
import { WhatHappened } from "./what-happened"

type Dialog = "share" | "go-to" | null

export function PaperWindow({ paper }: { paper: PaperStore }) {
  const [dialog, setDialog] = useState<Dialog>(null)
  const [side, setSide] = useKept("side", true)
  const [lower, setLower] = useKept("lower", false)

  useEffect(() => {
    document.title = `${paper.state().paper.title} – Quire`
  }, [paper])

  useKeys(paper, dialog !== null, () => setDialog("go-to"))

  return (
    <PaperContext value={paper}>
      <div className="window">
        <header className="top" data-stop>
          <div className="left">
            <Mark />
            <h1 className="cut">
              <PaperMenu />
            </h1>
          </div>
          <Button className="goto" onPress={() => setDialog("go-to")}>
            <Icon name="search" />
            <span>Go to file, section or command</span>
            <kbd className="push">Ctrl K</kbd>
          </Button>
          <div className="right">
            <Faces />
            <Button className="btn" onPress={() => setDialog("share")} data-testid="share-button">
              <Icon name="people" />
              Share
            </Button>
            <span className="sep" />
            <ToggleButton
              className={`btn bare icon ${side ? "on" : ""}`}
              aria-label="Files and outline"
              isSelected={side}
              onChange={setSide}
            >
              <Icon name="side" />
            </ToggleButton>
            <ToggleButton
              className={`btn bare icon ${lower ? "on" : ""}`}
              aria-label="What happened"
              isSelected={lower}
              onChange={setLower}
            >
              <Icon name="lower" />
            </ToggleButton>
          </div>
        </header>
        <Banners onWhatHappened={() => setLower(true)} />
        <Panels side={side} lower={lower} onCloseLower={() => setLower(false)} />
        <StatusBar />
      </div>
      {dialog === "share" && <Share onClose={() => setDialog(null)} />}
      {dialog === "go-to" && (
        <GoTo
          onShare={() => setDialog("share")}
          onWhatHappened={() => setLower(true)}
          onClose={() => setDialog(null)}
        />
      )}
    </PaperContext>
  )
}

interface PanelsProps {
  side: boolean
  lower: boolean
  onCloseLower: () => void
}

function Panels({ side, lower, onCloseLower }: PanelsProps) {
  return (
    <Group
      className="body"
      orientation="horizontal"
      {...keptLayout("columns", ["side", "middle"], side)}
    >
      {side && (
        <>
          <Panel
            id="side"
            defaultSize={228}
            minSize={160}
            maxSize={420}
            groupResizeBehavior="preserve-pixel-size"
          >
            <nav className="pane side" aria-label="Files and outline" data-stop>
              <Files />
              <Outline />
              <People />
            </nav>
          </Panel>
          <Separator className="divider" aria-label="Width of the side panel" />
        </>
      )}
      <Panel id="middle" minSize={320}>
        <Group orientation="vertical" {...keptLayout("rows", ["text", "lower"], lower)}>
          <Panel id="text" minSize={120}>
            <EditorPane />
          </Panel>
          {lower && (
            <>
              <Separator className="divider flat" aria-label="Height of What happened" />
              <Panel
                id="lower"
                defaultSize={176}
                minSize={96}
                groupResizeBehavior="preserve-pixel-size"
              >
                <WhatHappened onClose={onCloseLower} />
              </Panel>
            </>
          )}
        </Group>
      </Panel>
    </Group>
  )
}

function PaperMenu() {
  const paper = usePaper()
  const title = usePaperState((state) => state.paper.title)
  const folder = usePaperState((state) => state.paper.folder)
  const [look, setLook] = useState<Appearance>(appearance)
  return (
    <MenuTrigger>
      <Button className="btn bare paper-title" aria-label={`${title}, menu`}>
        <span className="strong cut" data-testid="paper-title">
          {title}
        </span>
        <Icon name="chevron" />
      </Button>
      <Popover placement="bottom start" className="popover">
        <Menu
          className="menu"
          onAction={(key) => {
            if (key === "folder") paper.revealFolder()
          }}
        >
          <MenuItem id="folder" className="menu-item tall" textValue="Show the folder">
            <Icon name="folder" />
            <span>
              Show the folder
              <small className="cut">{folder}</small>
            </span>
          </MenuItem>
          <MenuRule className="menu-rule" />
          <MenuSection
            selectionMode="single"
            disallowEmptySelection
            selectedKeys={[look]}
            onSelectionChange={(keys) => {
              const [choice] = keys as Set<Appearance>
              if (!choice) return
              setAppearance(choice)
              setLook(choice)
            }}
          >
            <Header className="menu-head">Appearance</Header>
            <LookItem id="system" words="As the system" />
            <LookItem id="light" words="Light" />
            <LookItem id="dark" words="Dark" />
          </MenuSection>
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}

function LookItem({ id, words }: { id: Appearance; words: string }) {
  return (
    <MenuItem id={id} className="menu-item" textValue={words}>
      {({ isSelected }) => (
        <>
          {isSelected ? <Icon name="check" /> : <span className="no-icon" />}
          {words}
        </>
      )}
    </MenuItem>
  )
}

function Faces() {
  const people = usePaperState((state) => state.status.people)
  const me = usePaperState((state) => state.paper.me)
  const others = inOrder(people).filter((person) => !person.me)
  return (
    <ul className="faces" aria-label="People here">
      <li>
        <Face name={me.name} color={me.color} title={`${me.name} (you)`} />
      </li>
      {others.slice(0, 6).map((person) => (
        <li key={person.id}>
          <Face name={person.name} color={person.color} title={person.name} />
        </li>
      ))}
      {others.length > 6 && <li className="soft">and {others.length - 6} more</li>}
    </ul>
  )
}

/**
 * F6 goes round the panels, Escape to the text, Ctrl F searches it, Ctrl K and Ctrl P go anywhere,
 * Ctrl W closes the file in front.
 */
function useKeys(paper: PaperStore, busy: boolean, goTo: () => void) {
  const latest = useRef({ busy, goTo })
  latest.current = { busy, goTo }
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (latest.current.busy || event.defaultPrevented) return
      const command = event.ctrlKey || event.metaKey
      const key = event.key.toLowerCase()
      if (command && !event.altKey && !event.shiftKey && (key === "k" || key === "p")) {
        latest.current.goTo()
      } else if (command && !event.altKey && !event.shiftKey && key === "w") {
        const { active } = paper.state()
        if (active) paper.closeTab(active)
      } else if (command && !event.altKey && !event.shiftKey && key === "f") {
        paper.editor()?.search()
      } else if (event.key === "F6") {
        goRound(event.shiftKey ? -1 : 1)
      } else if (event.key === "Escape") {
        if (document.activeElement?.closest(".cm-editor, [role=menu]")) return
        paper.editor()?.view.focus()
      } else return
      event.preventDefault()
      event.stopPropagation()
    }
    // Before the editor's own keys, of which Ctrl K is one.
    addEventListener("keydown", onKey, true)
    return () => removeEventListener("keydown", onKey, true)
  }, [paper])
}

const FOCUSABLE =
  ".cm-content, [role=row][tabindex='0'], [role=option][tabindex='0'], button:not([disabled]), input, [tabindex='0']"

function goRound(step: 1 | -1) {
  const panels = [...document.querySelectorAll<HTMLElement>("[data-stop]")]
  const at = panels.findLastIndex((panel) => panel.contains(document.activeElement))
  for (let round = 1; round <= panels.length; round++) {
    const next = panels[(at + step * round + panels.length * 2) % panels.length]
    // The text before the tabs above it.
    const target =
      next?.querySelector<HTMLElement>(".cm-content") ?? next?.querySelector<HTMLElement>(FOCUSABLE)
    if (!target) continue
    target.focus()
    return
  }
}

/** A yes or no that this computer keeps. */
function useKept(name: string, usual: boolean): [boolean, (value: boolean) => void] {
  const [value, setValue] = useState(() => {
    const kept = localStorage.getItem(`panel ${name}`)
    return kept === null ? usual : kept === "true"
  })
  const keep = (next: boolean) => {
    localStorage.setItem(`panel ${name}`, String(next))
    setValue(next)
  }
  return [value, keep]
}

/** Returns how a group of panels keeps its sizes; they count only while all of them are shown. */
function keptLayout(name: string, panels: readonly string[], all: boolean) {
  const key = `layout ${name}`
  const onLayoutChanged = (layout: Layout) => {
    if (panels.every((panel) => panel in layout)) localStorage.setItem(key, JSON.stringify(layout))
  }
  const kept = all ? readLayout(localStorage.getItem(key), panels) : null
  return kept ? { defaultLayout: kept, onLayoutChanged } : { onLayoutChanged }
}

function readLayout(kept: string | null, panels: readonly string[]): Layout | null {
  if (kept === null) return null
  try {
    const layout: unknown = JSON.parse(kept)
    if (typeof layout !== "object" || layout === null) return null
    const sizes = new Map<string, unknown>(Object.entries(layout))
    const fits = panels.every((panel) => typeof sizes.get(panel) === "number")
    return fits ? (layout as Layout) : null
  } catch {
    return null
  }
}

// The middle of the window: tabs, and the text of the file in front. A file that is not text is
// named, with what can be done about it.

import { useEffect, useRef } from "react"
import { Button, Tab, TabList, TabPanel, Tabs } from "react-aria-components"
import { size } from "../words"
import { fileIcon, Icon } from "./icons"
import { usePaper, usePaperState } from "./use-paper"

export function EditorPane() {
  const paper = usePaper()
  const active = usePaperState((state) => state.active)
  return (
    <main className="pane" aria-label="Text" data-stop="text">
      {active === null ? (
        <>
          <div className="bar" />
          <NoFile />
        </>
      ) : (
        <Tabs
          className="pane"
          selectedKey={active}
          keyboardActivation="manual"
          onSelectionChange={(key) => void paper.show(String(key))}
        >
          <FileTabs active={active} />
          <TabPanel id={active} className="pane sheet">
            <File file={active} />
          </TabPanel>
        </Tabs>
      )}
    </main>
  )
}

function File({ file }: { file: string }) {
  const form = usePaperState((state) => state.form)
  const note = usePaperState((state) => state.files.find((f) => f.id === file)?.note ?? null)
  if (form === null) return <NotText file={file} />
  return (
    <>
      {note && (
        <p className="banner" data-testid="file-note">
          <Icon name="warn" />
          {note}
        </p>
      )}
      <Editor />
    </>
  )
}

function FileTabs({ active }: { active: string }) {
  const paper = usePaper()
  const tabs = usePaperState((state) => state.tabs)
  const files = usePaperState((state) => state.files)
  return (
    <div className="bar tabs">
      <TabList aria-label="Open files" className="tab-list">
        {tabs.map((id) => {
          const path = files.find((file) => file.id === id)?.path ?? ""
          const name = path.split("/").at(-1) ?? path
          return (
            <Tab
              key={id}
              id={id}
              className={`tab ${id === active ? "on" : ""}`}
              data-testid={`tab:${path}`}
              aria-label={name}
            >
              <Icon name={fileIcon(path)} />
              <span title={path}>{name}</span>
              {/* Not a button in the tab, which may hold none: the keyboard closes with Ctrl W. */}
              <span
                className="tab-close"
                aria-hidden="true"
                title={`Close ${name}`}
                onPointerDown={(event) => event.stopPropagation()}
                onClick={(event) => {
                  event.stopPropagation()
                  paper.closeTab(id)
                }}
              >
                <Icon name="close" />
              </span>
            </Tab>
          )
        })}
      </TabList>
    </div>
  )
}

function Editor() {
  const paper = usePaper()
  const active = usePaperState((state) => state.active)
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const editor = paper.editor()
    if (!place.current || !editor || editor.file !== active) return
    editor.show(place.current)
    document.documentElement.dataset.ready = "true"
    return () => editor.hide()
  }, [paper, active])
  return <div className="editor" ref={place} />
}

function NoFile() {
  return (
    <div className="editor empty">
      <p className="strong">No file is open</p>
      <p className="soft">Choose one at the left, or press Ctrl K and type its name.</p>
    </div>
  )
}

function NotText({ file }: { file: string }) {
  const paper = usePaper()
  const entry = usePaperState((state) => state.files.find((f) => f.id === file))
  if (!entry) return <NoFile />
  // While a text is being opened there is nothing to say.
  if (entry.kind === "text") return <div className="editor" />
  return (
    <div className="editor empty">
      <p className="strong">
        {entry.path} is {entry.kind === "link" ? "a link" : "not text"}
      </p>
      <p className="soft">
        {size(entry.bytes)}.{" "}
        {entry.note ??
          (entry.kind === "link"
            ? "Links stay on this computer; what they lead to is not shared."
            : "It is kept as it is, and shared as a whole when it changes.")}
      </p>
      <p>
        <Button className="btn" onPress={() => paper.revealFolder()}>
          <Icon name="folder" />
          Show the folder
        </Button>
      </p>
    </div>
  )
}

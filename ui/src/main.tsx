// The page's beginning: finds the shell, sets the theme, shows the window that this is.

import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { PaperWindow } from "./panels/paper-window"
import { openPaper } from "./paper"
import { type Shell, sentence, tauriShell } from "./shell"
import { StartWindow } from "./start/start-window"
import { followSystem } from "./theme"
import "./style/tokens.css"
import "./style/quire.css"
import "./style/start.css"
import "./style/editor.css"

async function findShell(): Promise<Shell> {
  const shell = tauriShell()
  if (shell) return shell
  // `vite` and the page tests; the branch is not in the app's build.
  if (import.meta.env.MODE !== "production") {
    const { stubShell } = await import("./shell-stub")
    return stubShell()
  }
  throw new Error("This page is the inside of Quire. Start the app to use it.")
}

async function windowOf(shell: Shell) {
  if (shell.windowKind() === "start") {
    return <StartWindow shell={shell} start={await shell.start()} />
  }
  return <PaperWindow paper={await openPaper(shell)} />
}

function fail(place: HTMLElement, problem: string) {
  const box = document.createElement("div")
  box.className = "failed"
  createRoot(place.parentElement?.appendChild(box) ?? box).render(
    <div role="alert">
      <p className="strong">This window can’t be shown.</p>
      <p>{problem}</p>
      <p>
        <button type="button" className="btn" onClick={() => location.reload()}>
          Show it again
        </button>
      </p>
    </div>,
  )
}

async function begin() {
  followSystem()
  const place = document.getElementById("root")
  if (!place) return
  const root = createRoot(place, {
    // A mistake of ours in a panel: what was typed is with the replica, so begin again.
    onUncaughtError: (error) => fail(place, sentence(error)),
  })
  try {
    root.render(<StrictMode>{await windowOf(await findShell())}</StrictMode>)
  } catch (error) {
    root.unmount()
    fail(place, sentence(error))
  }
}

void begin()

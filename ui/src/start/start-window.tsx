// The start window: who you are, papers opened before, open a folder, join by link.

import { type FormEvent, useEffect, useState } from "react"
import { Button, Input, SearchField, TextField } from "react-aria-components"
import { Face } from "../panels/face"
import { Icon, Mark } from "../panels/icons"
import { type Shell, sentence } from "../shell"
import type { Person, Start } from "../shell.gen"
import { RecentPapers } from "./recent-papers"
import { WhoAreYou } from "./who-are-you"

export function StartWindow({ shell, start }: { shell: Shell; start: Start }) {
  const [person, setPerson] = useState(start.person)
  const [recent, setRecent] = useState(start.recent)
  const [asking, setAsking] = useState(start.person.name.trim() === "")
  const [search, setSearch] = useState("")
  const [problem, setProblem] = useState<string | null>(null)

  useEffect(() => {
    document.documentElement.dataset.ready = "true"
  }, [])

  const attempt = async (call: Promise<void>): Promise<boolean> => {
    try {
      await call
      setProblem(null)
      return true
    } catch (error) {
      setProblem(sentence(error))
      return false
    }
  }

  const take = async (next: Person) => {
    if (!(await attempt(shell.setPerson(next)))) return
    setPerson(next)
    setAsking(false)
  }

  const openFolder = () => void attempt(shell.openFolder())

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "o") return
      event.preventDefault()
      shell.openFolder().catch((error) => setProblem(sentence(error)))
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  }, [shell])

  return (
    <div className="start">
      <aside>
        <div className="brand">
          <Mark />
          Quire
        </div>
        <ul className="do">
          <li>
            <Button className="do-row" onPress={openFolder} data-testid="open-folder">
              <Icon name="folder" />
              <b>Open a folder</b>
              <kbd>Ctrl O</kbd>
              <small>Any folder with a .tex file. It stays where it is.</small>
            </Button>
          </li>
          <li>
            <JoinByLink join={(link) => attempt(shell.join(link))} />
          </li>
        </ul>
        <div className="me">
          {person.name.trim() === "" ? (
            <span className="soft xs">Works without an account and without a network.</span>
          ) : (
            <>
              <Face name={person.name} color={person.color} size="large" />
              <span className="cut">
                <span className="strong">{person.name}</span>
                <br />
                <span className="soft xs">Others see this name and color</span>
              </span>
              <Button
                className="btn bare icon push"
                aria-label="Change name, color and appearance"
                onPress={() => setAsking(true)}
                data-testid="settings"
              >
                <Icon name="gear" />
              </Button>
            </>
          )}
        </div>
      </aside>
      <main>
        {problem && (
          <p className="problem-line banner-line" role="alert" data-testid="problem">
            <Icon name="warn" />
            {problem}
            <Button
              className="btn bare icon push"
              aria-label="Close"
              onPress={() => setProblem(null)}
            >
              <Icon name="close" />
            </Button>
          </p>
        )}
        {asking ? (
          <WhoAreYou
            person={person}
            first={person.name.trim() === ""}
            onDone={(next) => void take(next)}
            onCancel={() => setAsking(false)}
          />
        ) : (
          <>
            <div className="head">
              <h1>Recent papers</h1>
              {recent.length > 5 && (
                <SearchField
                  className="field low push find"
                  aria-label="Find a paper"
                  value={search}
                  onChange={setSearch}
                >
                  <Icon name="search" />
                  <Input placeholder="Find a paper" />
                </SearchField>
              )}
            </div>
            <RecentPapers
              papers={recent}
              search={search}
              onOpen={(id) => void attempt(shell.openRecent(id))}
              onForget={(id) =>
                void attempt(shell.forgetRecent(id)).then((done) => {
                  if (done) setRecent((papers) => papers.filter((paper) => paper.id !== id))
                })
              }
            />
          </>
        )}
        <p className="version faint xs">Quire {start.version}</p>
      </main>
    </div>
  )
}

function JoinByLink({ join }: { join: (link: string) => Promise<boolean> }) {
  const [link, setLink] = useState("")
  const [busy, setBusy] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    if (await join(link.trim())) setLink("")
    setBusy(false)
  }
  return (
    <form className="do-row still" onSubmit={(event) => void submit(event)}>
      <Icon name="link" />
      <b id="join-title">Join by link</b>
      <small id="join-words">Paste the link that a co-author sent you.</small>
      <span className="join">
        <TextField
          aria-labelledby="join-title"
          aria-describedby="join-words"
          value={link}
          onChange={setLink}
        >
          <Input
            className="field mono"
            placeholder="quire://…"
            spellCheck="false"
            data-testid="join-link"
          />
        </TextField>
        <Button
          className="btn high"
          type="submit"
          isDisabled={busy || link.trim() === ""}
          data-testid="join"
        >
          {busy ? "Joining" : "Join"}
        </Button>
      </span>
    </form>
  )
}

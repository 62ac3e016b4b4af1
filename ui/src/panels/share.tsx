// Sharing: where the paper meets, the link to pass on, who has it. By default only this computer
// can be reached; opening it to the network takes a question of its own.

import { useEffect, useRef, useState } from "react"
import { Button, Input, Label, Radio, RadioGroup, TextField } from "react-aria-components"
import { sentence } from "../shell"
import type { ShareWhere, Sharing } from "../shell.gen"
import { meetsAt, whereabouts } from "../words"
import { Frame, Problem } from "./dialog"
import { Face } from "./face"
import { Icon } from "./icons"
import { inOrder } from "./people"
import { usePaper, usePaperState } from "./use-paper"

export function Share({ onClose }: { onClose: () => void }) {
  const title = usePaperState((state) => state.paper.title)
  const sharing = usePaperState((state) => state.status.sharing)
  return (
    <Frame
      title={`Share “${title}”`}
      subtitle="Everyone here keeps the whole paper on their own computer."
      testid="share"
      onClose={onClose}
    >
      {sharing ? <Shared sharing={sharing} /> : <ShareNow />}
    </Frame>
  )
}

type Place = "here" | "network" | "server"

function ShareNow() {
  const paper = usePaper()
  const [place, setPlace] = useState<Place>("here")
  const [address, setAddress] = useState("")
  const [url, setUrl] = useState("")
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)

  const where = (): ShareWhere => {
    if (place === "server") return { kind: "server", url: url.trim() }
    return { kind: "here", address: place === "network" ? address.trim() : null }
  }
  const incomplete =
    (place === "network" && address.trim() === "") || (place === "server" && url.trim() === "")

  const share = async () => {
    setBusy(true)
    setProblem(null)
    try {
      await paper.share(where())
    } catch (error) {
      setProblem(sentence(error))
    }
    setBusy(false)
  }

  return (
    <>
      <section>
        <RadioGroup
          className="choices"
          value={place}
          onChange={(value) => setPlace(value as Place)}
          aria-label="Where the paper meets"
        >
          <Choice
            value="here"
            title="On this computer only"
            words="For a second window, or a second person at this computer. Nobody else can reach it."
          />
          <Choice
            value="network"
            title="On this computer, open to the network"
            words="Co-authors connect to this computer while the paper is open here."
          />
          <Choice
            value="server"
            title="At a server"
            words="Co-authors meet there at any time, also when this computer is off."
          />
        </RadioGroup>
        {place === "network" && (
          <div className="question">
            <TextField className="labeled" value={address} onChange={setAddress}>
              <Label>Address of this computer, as co-authors reach it</Label>
              <Input className="field mono" placeholder="192.168.1.20:4300" spellCheck="false" />
            </TextField>
            <p className="soft">
              <b>Open this computer to others?</b> Whoever reaches this address can try to connect;
              only people with the link get in. Everything is encrypted, and the link carries the
              proof that it is this computer.
            </p>
          </div>
        )}
        {place === "server" && (
          <div className="question">
            <TextField className="labeled" value={url} onChange={setUrl}>
              <Label>Address of the server</Label>
              <Input
                className="field mono"
                placeholder="wss://meet.example.org"
                spellCheck="false"
              />
            </TextField>
            <p className="soft">The server keeps a copy of the paper. Choose one that you trust.</p>
          </div>
        )}
        <Problem text={problem} />
      </section>
      <footer>
        <span>A link is made; who has it can edit.</span>
        <Button
          className="btn main big push"
          isDisabled={busy || incomplete}
          onPress={() => void share()}
          data-testid="share-start"
        >
          {place === "network" ? "Open to the network and share" : "Share"}
        </Button>
      </footer>
    </>
  )
}

function Choice({ value, title, words }: { value: Place; title: string; words: string }) {
  return (
    <Radio value={value} className="choice" data-testid={`share-${value}`}>
      <span className="rad" aria-hidden="true" />
      <span>
        <b>{title}</b>
        <small>{words}</small>
      </span>
    </Radio>
  )
}

function Shared({ sharing }: { sharing: Sharing }) {
  const paper = usePaper()
  const people = usePaperState((state) => state.status.people)
  const network = usePaperState((state) => state.status.network)
  const me = usePaperState((state) => state.paper.me)
  const files = usePaperState((state) => state.files)
  const active = usePaperState((state) => state.active)
  const [problem, setProblem] = useState<string | null>(null)
  const [copied, setCopied] = useState(false)
  const copy = useRef<HTMLButtonElement>(null)

  // The button that was pressed is gone: without this, the keyboard would have nowhere to go on.
  useEffect(() => copy.current?.focus(), [])

  const attempt = async (call: Promise<unknown>): Promise<boolean> => {
    try {
      await call
      setProblem(null)
      return true
    } catch (error) {
      setProblem(sentence(error))
      return false
    }
  }

  return (
    <>
      <section>
        <div className="linkbox">
          <Input
            className="field"
            readOnly
            value={sharing.link}
            aria-label="Link"
            data-testid="share-link"
            onFocus={(event) => event.currentTarget.select()}
          />
          <Button
            ref={copy}
            className="btn main big"
            data-testid="copy-link"
            onPress={() => void attempt(paper.copyText(sharing.link)).then(setCopied)}
          >
            <Icon name={copied ? "check" : "copy"} />
            {copied ? "Copied" : "Copy link"}
          </Button>
        </div>
        <p className="xs soft after-link">
          The part after # is the key: who has it can edit. Send it only to people you mean to
          invite.
        </p>
        <Problem text={problem} />
      </section>
      <div className="line" />
      <section>
        <h3 className="cap">People here</h3>
        <ul>
          <li className="rowp">
            <Face name={me.name} color={me.color} size="large" />
            <span>
              <span className="strong">You</span>
              <br />
              <span className="xs soft">{me.name}</span>
            </span>
          </li>
          {inOrder(people)
            .filter((person) => !person.me)
            .map((person) => (
              <li className="rowp" key={person.id}>
                <Face name={person.name} color={person.color} size="large" />
                <span className="cut">
                  <span className="strong">{person.name}</span>
                  <br />
                  <span className="xs soft">{whereabouts(person, active, files) || "here"}</span>
                </span>
              </li>
            ))}
        </ul>
      </section>
      <footer>
        <Icon name="server" />
        <span className="cut">
          Meets <span className="strong ink">{meetsAt(sharing)}</span>
          {network.kind === "online" ? ", reached" : ", not reached now"}
        </span>
        <Button
          className="btn danger push"
          data-testid="share-stop"
          onPress={() => void attempt(paper.stopSharing())}
        >
          {sharing.here ? "Stop sharing" : "Leave the server"}
        </Button>
      </footer>
    </>
  )
}

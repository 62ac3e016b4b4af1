// The questions about files: what a new one is called, what an old one is called now, and
// whether one goes for everybody.

import { type FormEvent, useState } from "react"
import { Button, Input, Label, TextField } from "react-aria-components"
import { sentence } from "../shell"
import type { FileEntry } from "../shell.gen"
import { Frame, Problem } from "./dialog"
import { usePaper } from "./use-paper"

type NameAsk = { kind: "new"; under: string } | { kind: "rename" | "delete"; entry: FileEntry }

export function FileNameDialog({ ask, onClose }: { ask: NameAsk; onClose: () => void }) {
  const paper = usePaper()
  const [path, setPath] = useState(ask.kind === "new" ? ask.under : ask.entry.path)
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const old = ask.kind === "new" ? null : ask.entry

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    try {
      if (old) await paper.renameFile(old.id, path.trim())
      else await paper.createFile(path.trim())
      onClose()
    } catch (error) {
      setProblem(sentence(error))
      setBusy(false)
    }
  }

  return (
    <Frame
      small
      title={old ? `Rename ${old.path}` : "New file"}
      testid="file-name"
      onClose={onClose}
    >
      <form onSubmit={(event) => void submit(event)}>
        <section>
          <TextField className="labeled" value={path} onChange={setPath} autoFocus isRequired>
            <Label>Name, with its folders if it is in one</Label>
            <Input className="field" placeholder="sections/results.tex" spellCheck="false" />
          </TextField>
          <Problem text={problem} />
        </section>
        <footer>
          <Button className="btn push" onPress={onClose}>
            Cancel
          </Button>
          <Button className="btn main" type="submit" isDisabled={busy || path.trim() === ""}>
            {old ? "Rename" : "Make the file"}
          </Button>
        </footer>
      </form>
    </Frame>
  )
}

export function DeleteFileDialog({ entry, onClose }: { entry: FileEntry; onClose: () => void }) {
  const paper = usePaper()
  const [problem, setProblem] = useState<string | null>(null)
  const remove = async () => {
    try {
      await paper.deleteFile(entry.id)
      onClose()
    } catch (error) {
      setProblem(sentence(error))
    }
  }
  return (
    <Frame
      small
      title={`Delete ${entry.path} for everybody`}
      testid="delete-file"
      onClose={onClose}
    >
      <section>
        <p>
          The file goes from this folder and from the folder of everyone who shares the paper. What
          others type in it at this moment goes as well.
        </p>
        <Problem text={problem} />
      </section>
      <footer>
        <Button className="btn push" onPress={onClose} autoFocus>
          Keep the file
        </Button>
        <Button className="btn danger" onPress={() => void remove()}>
          Delete for everybody
        </Button>
      </footer>
    </Frame>
  )
}

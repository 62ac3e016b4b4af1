// Name and color, asked for at the first start and to be changed at any time; with them, how the
// windows look.

import { type FormEvent, useState } from "react"
import { Button, Input, Label, Radio, RadioGroup, TextField } from "react-aria-components"
import { Icon, type IconName } from "../panels/icons"
import { colorName, initial, PERSON_COLORS, personClass } from "../people"
import type { Person } from "../shell.gen"
import { type Appearance, appearance, setAppearance } from "../theme"

interface WhoAreYouProps {
  person: Person
  first: boolean
  onDone: (person: Person) => void
  onCancel: () => void
}

const LOOKS: readonly { id: Appearance; words: string }[] = [
  { id: "system", words: "As the system" },
  { id: "light", words: "Light" },
  { id: "dark", words: "Dark" },
]

export function WhoAreYou({ person, first, onDone, onCancel }: WhoAreYouProps) {
  const [name, setName] = useState(person.name)
  const [color, setColor] = useState(person.color)
  const [look, setLook] = useState<Appearance>(appearance)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() !== "") onDone({ name: name.trim(), color })
  }
  return (
    <form className="first" onSubmit={submit}>
      <h1>{first ? "What should co-authors call you?" : "You, as co-authors see you"}</h1>
      <p>Your name and color mark your cursor and your edits. You can change both at any time.</p>
      <TextField value={name} onChange={setName} autoFocus maxLength={60}>
        <Label>Name</Label>
        <Input className="field" data-testid="name" spellCheck="false" />
      </TextField>
      <RadioGroup
        className="dots"
        value={String(color)}
        onChange={(value) => setColor(Number(value))}
        orientation="horizontal"
      >
        <Label>Color</Label>
        <div>
          {Array.from({ length: PERSON_COLORS }, (_, at) => (
            <Radio
              // biome-ignore lint/suspicious/noArrayIndexKey: a color is its number.
              key={at}
              value={String(at)}
              aria-label={colorName(at)}
              className={`face large ${personClass(at)}`}
            >
              {name.trim() === "" ? "" : initial(name)}
            </Radio>
          ))}
        </div>
      </RadioGroup>
      {!first && (
        <RadioGroup
          className="looks"
          value={look}
          orientation="horizontal"
          onChange={(value) => {
            const choice = LOOKS.find(({ id }) => id === value)?.id ?? "system"
            setLook(choice)
            setAppearance(choice)
          }}
        >
          <Label>Appearance</Label>
          <div>
            {LOOKS.map(({ id, words }) => (
              <Radio key={id} value={id} className="btn">
                {words}
              </Radio>
            ))}
          </div>
        </RadioGroup>
      )}
      <div className="acts">
        <Button className="btn main big" type="submit" isDisabled={name.trim() === ""}>
          {first ? "Continue" : "Done"}
        </Button>
        {!first && (
          <Button className="btn big" onPress={onCancel}>
            Cancel
          </Button>
        )}
      </div>
      {first && (
        <ul className="facts">
          <Fact icon="folder" strong="Your paper is an ordinary folder.">
            Other editors, git and scripts may change it while Quire is open.
          </Fact>
          <Fact icon="offline" strong="Write anywhere.">
            Without a network everything works; edits meet when you are back.
          </Fact>
        </ul>
      )}
    </form>
  )
}

function Fact({ icon, strong, children }: { icon: IconName; strong: string; children: string }) {
  return (
    <li>
      <Icon name={icon} />
      <span>
        <b>{strong}</b> {children}
      </span>
    </li>
  )
}

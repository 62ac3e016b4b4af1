// Runs a program with Yjs itself, as src/worker.rs does with the others: a line in by standard
// input, an outcome out. Garbage collection and compilation count: they are its processor time.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const [folder, subject, path, patienceMs] = process.argv.slice(2)
const Y = createRequire(`${folder}/`)('yjs')
const program = JSON.parse(readFileSync(path, 'utf8'))
const second = subject === 'yjs-v2'
const format = second ? 'v2' : 'v1'
const event = second ? 'updateV2' : 'update'
const applyUpdate = second ? Y.applyUpdateV2 : Y.applyUpdate
const encodeState = second ? Y.encodeStateAsUpdateV2 : Y.encodeStateAsUpdate
const state = program.state && readFileSync(`${program.state}.${format}`)

const everything = [...program.before, ...program.timed, ...program.after]
const needed = everything.filter((step) => step.e).map(() => false)
for (const step of everything) for (const message of step.a?.[1] ?? []) needed[message] = true
const listens = program.tell || needed.includes(true)
// Documents that only receive have no listener, as in the suite.
const edits = new Set(everything.filter((step) => step.e).map((step) => step.e[0]))

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')
const cpuMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function make(client) {
  const doc = new Y.Doc()
  doc.clientID = client
  return { doc, text: doc.getText('text'), map: doc.getMap('map'), array: doc.getArray('array') }
}

function withState(client, bytes) {
  const made = make(client)
  applyUpdate(made.doc, bytes)
  return made
}

function edit({ doc, text, map, array }, ops) {
  doc.transact(() => {
    for (const op of ops) {
      if (op.t) text.insert(op.t[0], op.t[1])
      else if (op.T) text.delete(op.T[0], op.T[1])
      else if (op.a) array.insert(op.a[0], op.a[1])
      else map.set(op.m[0], op.m[1])
    }
  })
}

// Does something for at least ten milliseconds; returns how many each time took.
function often(work) {
  const start = cpuMs()
  for (let times = 1; ; times++) {
    work()
    const took = cpuMs() - start
    if (took >= 10) return took / times
  }
}

function run(mode) {
  const check = mode === 'check'
  const messages = []
  const told = []
  let next = 0
  let messageBytes = 0
  let said = null
  const documents = []
  for (let number = 0; number < program.documents; number++) {
    const document = state ? withState(number + 1, state) : make(number + 1)
    told.push([0, createHash('sha256')])
    documents.push(document)
    if (edits.has(number) && listens) document.doc.on(event, (update) => (said = update))
    if (check) {
      document.doc.on(event, (update) => {
        told[number][0] += 1
        told[number][1].update(update)
      })
    }
  }
  const step = ({ e, a }) => {
    if (e) {
      said = null
      edit(documents[e[0]], e[1])
      if (said) {
        messageBytes += said.byteLength
        if (needed[next]) messages[next] = said
      }
      next += 1
    } else {
      const { doc } = documents[a[0]]
      if (a[1].length === 1) applyUpdate(doc, messages[a[1][0]])
      else doc.transact(() => a[1].forEach((message) => applyUpdate(doc, messages[message])))
    }
  }
  program.before.forEach(step)
  messageBytes = 0
  const first = next
  const total = program.timed.length * program.repeat
  let did = 0
  const start = cpuMs()
  all: for (let again = 0; again < program.repeat; again++) {
    next = first
    for (const each of program.timed) {
      did += 1
      step(each)
      if ((did % 1024 === 0 || did < 8) && cpuMs() - start > patienceMs) break all
    }
  }
  const outcome = {
    time_ms: cpuMs() - start,
    done: did / total,
    encode_ms: null,
    parse_ms: null,
    message_bytes: messageBytes,
    state_bytes: 0,
    units: 0,
    text: '',
    compared: [],
    memory: null,
  }
  if (did < total) return outcome
  if (check) {
    program.after.forEach(step)
    for (const document of program.compare) {
      outcome.compared.push({
        document,
        state: sha256(encodeState(documents[document].doc)),
        told: told[document][0],
        messages: told[document][1].copy().digest('hex'),
      })
    }
  }
  const result = documents[program.result]
  const text = result.text.toString()
  outcome.units = text.length
  outcome.text = sha256(text)
  let encoded
  outcome.encode_ms = often(() => (encoded = encodeState(result.doc)))
  outcome.state_bytes = encoded.byteLength
  outcome.parse_ms = often(() => withState(4294967295, encoded).text.toString())
  // Enough copies that what else the heap does meanwhile does not show.
  const copies = Math.max(1, Math.min(200, Math.ceil(4e6 / encoded.byteLength)))
  gc()
  const before = process.memoryUsage().heapUsed
  const parsed = Array.from({ length: copies }, () => withState(4294967295, encoded))
  gc()
  const bytes = (process.memoryUsage().heapUsed - before) / copies
  if (bytes > 0) outcome.memory = { parsed_bytes: Math.round(bytes) }
  if (parsed[0].text.toString() !== text) throw new Error('what was parsed has another text')
  return outcome
}

console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(run(line.trim())))
}

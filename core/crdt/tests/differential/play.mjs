// Plays the steps of a script in Yjs, and writes into each what Yjs made of it: the bytes, the values, the events.

import * as Y from "yjs"
import { bytes, delta, event, hex, make, show } from "./values.mjs"

const FORMATS = ["v1", "v2"]

/** Yjs's function of a name in a format. */
const of = (name, format) => (format === "v1" ? Y[name] : Y[`${name}V2`])

const START_MS = 1_000_000

/** The clock that Yjs sees; set up before Yjs is loaded, see record.mjs. */
export const clock = { ms: START_MS }

/** Sets the clock to where scripts start. */
export function rewind() {
  clock.ms = START_MS
}

export class Play {
  constructor(docs) {
    this.docs = new Map()
    this.slots = new Map()
    this.undo = new Map()
    for (const [name, options] of Object.entries(docs)) this.add(name, options)
  }

  add(name, { client, gc = true, gcFilter = false, roots = [], observed = false }) {
    const doc = new Y.Doc({ gc, ...(gcFilter ? { gcFilter: isThirdEnd } : {}) })
    doc.clientID = client
    this.adopt(name, doc)
    for (const root of roots) {
      const shared = this.resolve(name, root)
      if (observed) this.observe(name, shared)
    }
  }

  adopt(name, doc) {
    const events = silence({})
    doc.on("update", (update) => events.v1.push(hex(update)))
    doc.on("updateV2", (update) => events.v2.push(hex(update)))
    doc.on("subdocs", (event) => {
      for (const [what, docs] of Object.entries(event)) docs.forEach((one) => events[what].add(one))
    })
    this.docs.set(name, { doc, events, observers: [] })
  }

  /** From now on the events of a type and those in it are written down. */
  observe(name, shared) {
    const { observers } = this.docs.get(name)
    const observer = { events: [] }
    shared.observeDeep((events) => observer.events.push(...events.map(event)))
    observers.push(observer)
  }

  doc(name) {
    return this.docs.get(name).doc
  }

  /** What a path leads to. */
  resolve(name, [kind, root, ...path]) {
    const doc = this.doc(name)
    const roots = { text: "getText", map: "getMap", array: "getArray", xml: "getXmlFragment" }
    return path.reduce((at, part) => at.get(part), doc[roots[kind]](root))
  }

  keep(step, format, value) {
    if (step.out === undefined) return
    const slot = this.slots.get(step.out) ?? {}
    slot[format] = value
    this.slots.set(step.out, slot)
  }

  input(step) {
    const found = this.slots.get(step.in)?.[step.format]
    if (found === undefined) throw new Missing(step.in)
    return bytes(found)
  }

  vector({ sv }) {
    if (sv === undefined) return undefined
    return sv.startsWith("doc:") ? Y.encodeStateVector(this.doc(sv.slice(4))) : bytes(sv)
  }

  /** Runs `act` and writes down the events that came of it. */
  watch(step, name, act) {
    const { events, observers } = this.docs.get(name)
    silence(events)
    for (const observer of observers) observer.events = []
    this.follow(step, name, act)
    if (observers.length > 0) step.events = observers.map(({ events }) => events)
    const subdocs = ["added", "removed", "loaded"].map((what) => [
      what,
      [...events[what]].map((one) => one.guid),
    ])
    if (subdocs.some(([, guids]) => guids.length > 0)) step.subdocs = Object.fromEntries(subdocs)
    const { v1, v2 } = events
    if (v1.length !== v2.length) throw new Error("update and updateV2 differ in number")
    if (v1.length === 0) {
      step.emits = null
    } else if (v1.length === 1) {
      step.emits = { v1: v1[0], v2: v2[0] }
    } else {
      step.emits = { v1, v2 }
    }
    if (step.out === undefined) return
    const parts = v1.map((_, at) => ({ v1: v1[at], v2: v2[at] }))
    parts.forEach((part, at) => {
      this.slots.set(at === 0 ? step.out : `${step.out}.${at}`, part)
    })
    if (v1.length === 0) delete step.out
  }

  /** Runs `act` and writes down what happened to the stacks of a document's undo managers. */
  follow(step, name, act) {
    const managers = [...this.undo].filter(([, { doc, follows }]) => doc === name && follows)
    for (const [, { stacks }] of managers) stacks.length = 0
    act()
    if (managers.length === 0) return
    step.stacks = Object.fromEntries(managers.map(([id, { stacks }]) => [id, [...stacks]]))
  }

  /** Runs the ops of a transaction. */
  transact(step, ops) {
    this.watch(step, step.doc, () => this.doc(step.doc).transact(ops, step.origin ?? null))
  }

  /** Runs a transaction of ops that are chosen one after the other, as each depends on those before. */
  compose(step, choose) {
    this.transact(step, () => {
      for (const op of choose()) {
        edit(this.resolve(step.doc, op.at), op)
        step.ops.push(op)
      }
    })
  }

  step(step) {
    switch (step.do) {
      case "doc":
        return this.add(step.id, step)
      case "txn": {
        for (const op of step.ops) this.resolve(step.doc, op.at.slice(0, 2))
        return this.transact(step, () => {
          for (const op of step.ops) edit(this.resolve(step.doc, op.at), op)
        })
      }
      case "apply": {
        const update = this.input(step)
        return this.watch(step, step.doc, () => {
          of("applyUpdate", step.format)(this.doc(step.doc), update, step.origin ?? null)
        })
      }
      case "encode": {
        const state = of("encodeStateAsUpdate", step.format)(this.doc(step.doc), this.vector(step))
        step.bytes = hex(state)
        return this.keep(step, step.format, step.bytes)
      }
      case "sv":
        step.bytes = hex(Y.encodeStateVector(this.doc(step.doc)))
        return
      case "merge": {
        const inputs = step.in.map((name) => this.input({ ...step, in: name }))
        step.bytes = hex(of("mergeUpdates", step.format)(inputs))
        return this.keep(step, step.format, step.bytes)
      }
      case "diff": {
        const vector = this.vector(step)
        step.bytes = hex(of("diffUpdate", step.format)(this.input(step), vector))
        return this.keep(step, step.format, step.bytes)
      }
      case "svOf":
        step.bytes = hex(of("encodeStateVectorFromUpdate", step.format)(this.input(step)))
        return
      case "convert": {
        const convert =
          step.format === "v1" ? Y.convertUpdateFormatV1ToV2 : Y.convertUpdateFormatV2ToV1
        step.result = hex(convert(this.input(step)))
        return this.keep(step, step.format === "v1" ? "v2" : "v1", step.result)
      }
      case "obfuscate": {
        const obfuscate = of("obfuscateUpdate", step.format)
        step.bytes = hex(obfuscate(this.input(step), step.options))
        return this.keep(step, step.format, step.bytes)
      }
      case "pending": {
        const { store } = this.doc(step.doc)
        step.structs = store.pendingStructs !== null
        step.ds = store.pendingDs !== null
        return
      }
      case "check": {
        const at = this.resolve(step.doc, step.at)
        for (const want of step.want) {
          step[want] = want === "delta" ? delta(at) : want === "length" ? at.length : show(at)
        }
        return
      }
      case "same": {
        const seen = step.docs.map((name) =>
          JSON.stringify([
            step.at.map((at) => sorted(this.whole(name, at))),
            hex(Y.encodeStateVector(this.doc(name))),
          ]),
        )
        if (seen.some((one) => one !== seen[0])) throw new Diverged()
        return
      }
      case "observe":
        return this.observe(step.doc, this.resolve(step.doc, step.at))
      case "um": {
        const doc = this.doc(step.doc)
        const scope = step.scope.map((at) => this.resolve(step.doc, at))
        const manager = new Y.UndoManager(scope.length > 0 ? scope : doc, {
          captureTimeout: step.captureMs ?? 0,
          trackedOrigins: new Set(step.origins),
          ignoreRemoteMapChanges: step.ignoreRemote ?? false,
          captureTransaction: step.capture ? isOdd : changesAnything,
          ...(step.deleteFilter ? { deleteFilter: isThird } : {}),
          doc,
        })
        const stacks = []
        let count = 0
        manager.on("stack-item-added", ({ stackItem, type }) => {
          stackItem.meta.set("count", count)
          count += 1
          stacks.push(["added", type])
        })
        manager.on("stack-item-updated", ({ type }) => stacks.push(["updated", type]))
        manager.on("stack-item-popped", ({ stackItem, type }) =>
          stacks.push(["popped", type, stackItem.meta.get("count")]),
        )
        // A clearing by hand tells of both stacks, even if one was empty.
        manager.on("stack-cleared", ({ undoStackCleared }) => {
          if (!undoStackCleared) stacks.push(["cleared", "redo"])
        })
        this.undo.set(step.id, { manager, doc: step.doc, stacks, follows: step.follows === true })
        return
      }
      case "undo":
      case "redo": {
        const { manager, doc } = this.undo.get(step.um)
        this.watch(step, doc, () => manager[step.do]())
        step.left = [manager.undoStack.length, manager.redoStack.length]
        return
      }
      case "scope":
        return this.undo.get(step.um).manager.addToScope(this.resolve(step.doc, step.at))
      case "origin": {
        const { manager } = this.undo.get(step.um)
        if (step.add) return manager.addTrackedOrigin(step.origin)
        return manager.removeTrackedOrigin(step.origin)
      }
      case "untrack":
        return this.undo.get(step.um).manager.destroy()
      case "stop":
        return this.undo.get(step.um).manager.stopCapturing()
      case "clear":
        return this.undo.get(step.um).manager.clear()
      case "advance":
        clock.ms += step.ms
        return
      case "snapshot": {
        const snapshot = Y.snapshot(this.doc(step.doc))
        step.bytes = {}
        for (const format of FORMATS) {
          step.bytes[format] = hex(of("encodeSnapshot", format)(snapshot))
          this.keep(step, format, step.bytes[format])
        }
        return
      }
      case "restore": {
        const moment = of("decodeSnapshot", step.format)(this.input(step))
        const restored = new Y.Doc({ gc: false })
        restored.clientID = 4_000_000_000
        Y.createDocFromSnapshot(this.doc(step.doc), moment, restored)
        return this.adopt(step.as, restored)
      }
      case "shallow": {
        // As a document that collects would have it that became one that keeps at that moment.
        const moment = of("decodeSnapshot", step.format)(this.input(step))
        const state = Y.encodeStateAsUpdate(this.doc(step.doc))
        const whole = new Y.Doc({ gc: false })
        Y.applyUpdate(whole, state)
        const made = new Y.Doc()
        Y.createDocFromSnapshot(whole, moment, made)
        made.gc = false
        Y.applyUpdate(made, state)
        this.add(step.as, { ...step, gc: false })
        Y.applyUpdateV2(this.doc(step.as), Y.encodeStateAsUpdateV2(made))
        return
      }
      case "snapDelta": {
        const moment = (name) =>
          name === undefined
            ? undefined
            : of("decodeSnapshot", step.format)(this.input({ ...step, in: name }))
        step.delta = delta(this.resolve(step.doc, step.at), moment(step.now), moment(step.prev))
        return
      }
      case "relpos": {
        const text = this.resolve(step.doc, step.at)
        const position = Y.createRelativePositionFromTypeIndex(text, step.index, step.assoc)
        step.bytes = hex(Y.encodeRelativePosition(position))
        step.json = Y.relativePositionToJSON(position)
        for (const format of FORMATS) this.keep(step, format, step.bytes)
        return
      }
      case "abspos": {
        const slot = this.slots.get(step.in)
        if (slot === undefined) throw new Missing(step.in)
        const position = Y.decodeRelativePosition(bytes(slot.v1))
        const found = Y.createAbsolutePositionFromRelativePosition(position, this.doc(step.doc))
        // In a text that was deleted Yjs answers 0, or nothing once that was collected: here it is nothing.
        const gone = found === null || found.type._item?.deleted === true
        step.index = gone ? null : found.index
        return
      }
      default:
        throw new Error(`step ${step.do}`)
    }
  }

  /** What two replicas must agree on at a path. */
  whole(name, at) {
    const shared = this.resolve(name, at)
    return shared instanceof Y.Text ? delta(shared) : show(shared)
  }
}

/** No events so far. Yjs tells twice that a subdocument was removed, hence the sets. */
function silence(events) {
  const none = { added: new Set(), removed: new Set(), loaded: new Set() }
  return Object.assign(events, { v1: [], v2: [] }, none)
}

/** For a filter of what is collected: values under keys, and what does not end at every third clock. */
function isThirdEnd({ id, length, parentSub }) {
  return parentSub !== null || (id.clock + length) % 3 !== 0
}

/** For a filter of what an undo deletes: what does not start at every third clock. */
function isThird({ id }) {
  return id.clock % 3 !== 0
}

/** Transactions that bring an odd number of units, and all that undo managers make. */
function isOdd(transaction) {
  const { beforeState, afterState, origin } = transaction
  let units = 0
  for (const [client, clock] of afterState) units += clock - (beforeState.get(client) ?? 0)
  return changesAnything(transaction) && (origin instanceof Y.UndoManager || units % 2 === 1)
}

/** Our undo managers ignore transactions that changed nothing; those of Yjs have to be told. */
function changesAnything({ deleteSet, beforeState, afterState }) {
  return (
    deleteSet.clients.size > 0 ||
    [...afterState].some(([client, clock]) => beforeState.get(client) !== clock)
  )
}

/** A step reads what no step before it has written. */
export class Missing extends Error {}

/** Replicas that have exchanged everything differ in Yjs. */
export class Diverged extends Error {}

/** The value with the keys of maps in order. */
function sorted(value) {
  if (value === null || typeof value !== "object") return value
  if (Array.isArray(value)) return value.map(sorted)
  const entries = Object.entries(value).map(([key, member]) => [key, sorted(member)])
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)))
}

/** Runs one op of a transaction. */
function edit(at, op) {
  switch (op.op) {
    case "insert":
      if (op.text !== undefined) return at.insert(op.index, op.text, make(op.attrs))
      return at.insert(op.index, op.values.map(make))
    case "push":
      return at.push(op.values.map(make))
    case "delete":
      return at.delete(op.index, op.len)
    case "format":
      return at.format(op.index, op.len, make(op.attrs))
    case "embed":
      return at.insertEmbed(op.index, make(op.value), make(op.attrs))
    case "delta":
      return at.applyDelta(make(op.delta))
    case "set":
      return at.set(op.key, make(op.value))
    case "remove":
      return at.delete(op.key)
    case "setAttr":
      return at.setAttribute(op.key, make(op.value))
    case "removeAttr":
      return at.removeAttribute(op.key)
    case "load":
      return at.load()
    case "unload":
      return at.destroy()
    default:
      throw new Error(`op ${op.op}`)
  }
}

// A person with an ordinary Yjs client: y-websocket or Hocuspocus, driven by lines of JSON.
//
// node person.mjs <y-websocket|hocuspocus> <server, ws://host:port> <room> <secret> <client id>
// Each line on standard input is a command; each gets one line of answer on standard output.

import { createInterface } from "node:readline"
import { HocuspocusProvider, HocuspocusProviderWebsocket } from "@hocuspocus/provider"
import WebSocket from "ws"
import { WebsocketProvider } from "y-websocket"
import * as Y from "yjs"

const [kind, server, room, secret, client] = process.argv.slice(2)

// Standard output is for answers; libraries log to the other.
console.log = console.error

const doc = new Y.Doc({ gc: false })
doc.clientID = Number(client)
const text = doc.getText("text")

// What has happened so far; commands wait for it.
const seen = { denied: null, connected: 0 }
let changed = () => {}
const note = (what) => {
  Object.assign(seen, what)
  changed()
}
doc.on("update", () => changed())

const clients = {
  "y-websocket": () => {
    const provider = new WebsocketProvider(server, room, doc, {
      WebSocketPolyfill: WebSocket,
      params: { token: secret },
      disableBc: true,
    })
    provider.on("status", ({ status }) => {
      if (status === "connected") note({ connected: seen.connected + 1 })
    })
    provider.on("closed", ({ code, reason }) => note({ denied: `${code} ${reason}` }))
    provider.on("sync", () => changed())
    return {
      awareness: provider.awareness,
      // This framing has no word for "durable": what is said to be level is that it was synced.
      level: () => provider.synced,
      offline: () => provider.disconnect(),
      online: () => provider.connect(),
    }
  },
  hocuspocus: () => {
    const socket = new HocuspocusProviderWebsocket({
      url: server,
      WebSocketPolyfill: WebSocket,
      minDelay: 50,
      delay: 100,
    })
    const provider = new HocuspocusProvider({
      websocketProvider: socket,
      name: room,
      document: doc,
      token: secret,
      onAuthenticationFailed: ({ reason }) => note({ denied: reason }),
      onStatus: ({ status }) => {
        if (status === "connected") note({ connected: seen.connected + 1 })
      },
      onSynced: () => changed(),
      onUnsyncedChanges: () => changed(),
    })
    provider.attach()
    return {
      awareness: provider.awareness,
      level: () => provider.isSynced && !provider.hasUnsyncedChanges,
      offline: () => socket.disconnect(),
      online: () => socket.connect(),
    }
  },
}

const me = clients[kind]()
me.awareness.on("change", () => changed())

// A test that waits longer than this hangs.
const patienceMs = 30_000

const until = (done) =>
  new Promise((resolve) => {
    const started = Date.now()
    const look = () => {
      const waited = Date.now() - started > patienceMs
      if (waited) seen.vain = true
      if (done() || waited) {
        clearInterval(timer)
        changed = () => {}
        resolve()
      }
    }
    // Some of what is waited for has no event.
    const timer = setInterval(look, 20)
    changed = look
    look()
  })

const names = () =>
  [...me.awareness.getStates().values()].flatMap((state) => state.user?.name ?? []).sort()

const commands = {
  insert: ({ index, words }) => text.insert(index, words),
  delete: ({ index, length }) => text.delete(index, length),
  level: () => until(me.level),
  text: ({ words }) => until(() => text.toString() === words),
  length: ({ length }) => until(() => text.length === length),
  denied: () => until(() => seen.denied !== null),
  offline: () => me.offline(),
  online: () => me.online(),
  appear: ({ name }) => me.awareness.setLocalStateField("user", { name }),
  people: ({ people }) => until(() => names().join() === people.join()),
  read: () => {},
  quit: () => process.exit(0),
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line)
  await commands[command.do](command)
  const state = Buffer.from(Y.encodeStateVector(doc)).toString("hex")
  const answer = JSON.stringify({ text: text.toString(), state, ...seen })
  process.stdout.write(`${answer}\n`)
}
process.exit(0)

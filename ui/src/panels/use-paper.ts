// How a panel reads the store: the hook gives one part of the state and renders when it changes.

import { createContext, useContext, useSyncExternalStore } from "react"
import type { PaperState, PaperStore } from "../paper"

export const PaperContext = createContext<PaperStore | null>(null)

/** Returns the store of this window's paper. */
export function usePaper(): PaperStore {
  const store = useContext(PaperContext)
  if (!store) throw new Error("A panel stands outside of a paper window.")
  return store
}

/** Returns one part of the paper's state. */
export function usePaperState<T>(part: (state: PaperState) => T): T {
  const store = usePaper()
  return useSyncExternalStore(store.subscribe, () => part(store.state()))
}

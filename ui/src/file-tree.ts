// The flat list of a paper's files as folders and files. Pure.

import type { FileEntry } from "./shell.gen"

export interface Folder {
  readonly kind: "folder"
  /** The path from the paper's root, without a slash at its end. */
  readonly path: string
  readonly name: string
  readonly children: readonly Node[]
}

export interface Leaf {
  readonly kind: "file"
  readonly name: string
  readonly entry: FileEntry
}

export type Node = Folder | Leaf

/** Returns the tree of files that come in the order in which they are to be shown. */
export function fileTree(files: readonly FileEntry[]): Node[] {
  return level(files, "")
}

/** Returns the paths of all folders. */
export function folders(nodes: readonly Node[]): string[] {
  return nodes.flatMap((node) =>
    node.kind === "folder" ? [node.path, ...folders(node.children)] : [],
  )
}

function level(files: readonly FileEntry[], under: string): Node[] {
  const groups = new Map<string, FileEntry[]>()
  const nodes: (Leaf | string)[] = []
  for (const entry of files) {
    const rest = entry.path.slice(under.length)
    const slash = rest.indexOf("/")
    if (slash < 0) {
      nodes.push({ kind: "file", name: rest, entry })
      continue
    }
    const name = rest.slice(0, slash)
    const group = groups.get(name)
    if (group) group.push(entry)
    else {
      groups.set(name, [entry])
      nodes.push(name)
    }
  }
  return nodes.map((node) => {
    if (typeof node !== "string") return node
    const path = under + node
    return {
      kind: "folder",
      path,
      name: node,
      children: level(groups.get(node) ?? [], `${path}/`),
    }
  })
}

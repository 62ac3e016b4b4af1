// The frame of every dialog: a veil, a heading, a close button, Escape. One at a time.

import type { ReactNode } from "react"
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components"
import { Icon } from "./icons"

interface FrameProps {
  title: string
  subtitle?: string
  small?: boolean
  testid?: string
  onClose: () => void
  children: ReactNode
}

export function Frame({ title, subtitle, small = false, testid, onClose, children }: FrameProps) {
  return (
    <ModalOverlay
      className="veil"
      isOpen
      isDismissable
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
    >
      <Modal className={`dialog ${small ? "small" : ""}`}>
        <Dialog data-testid={testid}>
          <header>
            <div>
              <Heading slot="title">{title}</Heading>
              {subtitle && <p className="soft">{subtitle}</p>}
            </div>
            <Button className="btn bare icon push" aria-label="Close" onPress={onClose}>
              <Icon name="close" />
            </Button>
          </header>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

/** What went wrong with the last press, in the dialog where it was pressed. */
export function Problem({ text }: { text: string | null }) {
  if (!text) return null
  return (
    <p className="problem-line" role="alert">
      <Icon name="warn" />
      {text}
    </p>
  )
}

import BlueZ
import Control
import Gateway

/// The user behind a D-Bus call, as the pairing asks them.
struct DialogueUser: PairingUser {
    let dialogue: any PairingDialogue

    func stage(_ stage: String) async {
        await dialogue.stage(stage)
    }

    func answer(_ prompt: PairingPrompt) async -> PromptAnswer {
        guard let question = Self.question(prompt) else { return .reject }
        do throws(ControlError) {
            switch try await dialogue.ask(question) {
            case .accept: return .accept
            case .passkey(let passkey): return .passkey(passkey)
            case .refuse: return .reject
            }
        } catch {
            return .reject  // nobody is there to answer
        }
    }

    private static func question(_ prompt: PairingPrompt) -> PairingQuestion? {
        switch prompt {
        case .confirm(let passkey): UInt32(passkey).map { .confirm(passkey: $0) }
        case .enterPasskey: .enterPasskey
        case .display(let passkey, _): UInt32(passkey).map { .display(passkey: $0) }
        case .justWorks: .justWorks
        }
    }
}

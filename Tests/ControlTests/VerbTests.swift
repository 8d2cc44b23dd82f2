import Control
import EventLoop
import Foundation
import TestSupport
import Testing

@testable import celestiad

@Suite(.timeLimit(.minutes(5))) struct VerbTests {
    @Test func readingVerbsPrintTextOrJSON() async throws {
        try await Harness.with { harness in
            let cases: [([String], ExitCode, String, String)] = [
                (["status"], .unhealthy, "Küche", "\"schema_version\":1"),
                (["devices"], .success, "CR1-0042", "\"recorders\":[{"),
                (["device", "CR1-0042"], .success, "Firmware      1.4.2", "\"id\":\"CR1-0042\""),
                (["sessions"], .success, "朝の会議", "\"total\":3"),
                (["session", "1b9d"], .success, "REC0001.WAV", "\"duration_ms\":1925000"),
                (["scan"], .success, "C0:FF:EE:00:00:42", "\"found\":[{"),
                (["version"], .success, "daemon    9.8.7", "\"daemon\":\"9.8.7\""),
            ]
            for (words, code, text, json) in cases {
                let plain = await harness.run(words)
                #expect(plain.code == code, "\(words)")
                #expect(plain.output.contains(text), "\(words)")
                let machine = await harness.run(words + ["--json"])
                #expect(machine.code == code, "\(words)")
                #expect(machine.output.contains(json), "\(words): \(machine.output)")
                #expect(machine.output.contains("\"schema_version\":1"), "\(words)")
                #expect(machine.output.filter { $0 == "\n" }.count == 1)
                #expect((try? JSONSerialization.jsonObject(with: Data(machine.output.utf8))) != nil)
            }
        }
    }

    @Test func healthDecidesTheExitCodeOfStatus() async throws {
        try await Harness.with { harness in
            var status = Fixtures.status
            status.health = [HealthItem(code: "x", severity: "info", text: "by the way")]
            await harness.model.set(status: status)
            #expect(await harness.run(["status"]).code == .success)
        }
    }

    @Test func errorsAreExplainedAndCounted() async throws {
        try await Harness.with { harness in
            let error = ControlError(.notLoggedIn, "nobody is logged in\u{1B}[2J", hint: "celestiad login")
            await harness.model.set(behaviour: .fails(error))
            let result = await harness.run(["sessions", "--json"])
            #expect(result.code == .notLoggedIn)
            #expect(result.errors == "celestiad: nobody is logged in\u{FFFD}[2J\n  → celestiad login\n")
            #expect(result.output.contains("\"code\":7"))
            #expect(result.output.contains("\"type\":\"exit_error\""))
            #expect(await harness.run(["sync", "--wait", "0"]).code == .usage)
            #expect(await harness.run(["device", "--bus", "unix:path=/nonexistent", "X"]).code == .noBus)
        }
        let bus = try TestBus()
        try await Harness.with { harness in
            #expect(await harness.run(["status", "--bus", bus.address]).code == .notRunning)
        }
    }

    @Test func loginTakesThePasswordFromAFilePipeOrTerminalOnly() async throws {
        try await Harness.with { harness in
            let directory = TemporaryDirectory()
            let file = directory.path + "/password"
            try Data("from file\n".utf8).write(to: URL(filePath: file))
            #expect(await harness.run(["login", "ada", "--password-file", file]).code == .success)
            let piped = await harness.run(["login", "ada", "--password-file", "-"], typing: ["from pipe"])
            #expect(piped.code == .success)
            let typed = await harness.run(["login"], typing: ["ada", "from terminal"], terminal: true)
            #expect(typed.code == .success)
            #expect(typed.errors.hasPrefix("E-mail or user name: Password: \n"))
            #expect(await harness.run(["login", "ada"]).code == .usage)
            #expect(await harness.run(["login", "ada", "--password-file", "/nonexistent"]).code == .usage)
            let calls = await harness.model.calls
            #expect(calls == ["login ada from file", "login ada from pipe", "login ada from terminal"])
        }
    }

    @Test func aPasswordInTheClearIsWarnedOfByConfigCheck() async throws {
        try await Harness.with { harness in
            let cases = [("ha.local", "no", true), ("ha.local", "yes", false), ("127.0.0.1", "no", false)]
            for (host, tls, isWarned) in cases {
                let result = await harness.run(
                    ["config", "check"],
                    environment: [
                        "CELESTIAD_MQTT_HOST": host, "CELESTIAD_MQTT_TLS": tls,
                        "CELESTIAD_MQTT_USERNAME": "hub", "CELESTIAD_MQTT_PASSWORD_FILE": "/etc/password",
                    ])
                #expect(result.code == .success, "\(result)")
                #expect(
                    result.errors.contains("the MQTT broker ha.local goes over the network unencrypted")
                        == isWarned)
            }
        }
    }

    @Test func whoAsksForNothingHasFailed() async throws {
        try await Harness.with { harness in
            let result = await harness.run([])
            #expect(result.code == .usage)
            #expect(result.errors.contains("verbs:"))
            #expect(result.output.isEmpty)
            let help = await harness.run(["help"])
            #expect(help.code == .success)
            for code in ExitCode.allCases { #expect(help.output.contains("  \(code.rawValue) "), "\(code)") }
        }
    }

    @Test func sessionsOfAnUnknownRecorderAreAnError() async throws {
        try await Harness.with { harness in
            await harness.model.set(sessions: [])
            let none = await harness.run(["sessions"])
            #expect(none.code == .success)
            #expect(none.errors.contains("no captures yet → celestiad pair"))
            #expect(await harness.run(["sessions", "--state", "imported"]).errors == "no session matches\n")
            #expect(await harness.run(["sessions", "--device", "NOPE"]).code == .notFound)
            #expect(await harness.run(["sessions", "--device", "CR1-0042"]).code == .success)
            // It was forgotten, and its sessions are still there.
            await harness.model.set(sessions: [Fixtures.session])
            #expect(await harness.run(["sessions", "--device", "NOPE"]).code == .success)
        }
    }

    @Test func aPasswordThatOthersMayReadIsWarnedOf() async throws {
        try await Harness.with { harness in
            let directory = TemporaryDirectory()
            let file = directory.path + "/password"
            try Data("secret\n".utf8).write(to: URL(filePath: file))
            for (mode, isWarned) in [(0o600, false), (0o640, true), (0o604, true)] {
                chmod(file, mode_t(mode))
                let result = await harness.run(["login", "ada", "--password-file", file])
                #expect(result.code == .success)
                #expect(result.errors.contains("chmod 600 \(file)") == isWarned)
            }
        }
    }

    @Test func theTimeToLookForARecorderIsPassedOn() async throws {
        try await Harness.with { harness in
            var status = Fixtures.status
            status.health = []
            await harness.model.set(status: status)
            _ = await harness.run(["pair", "--device", "A", "--wait", "3", "--yes"])
            #expect(await harness.model.calls.contains { $0.hasPrefix("pair A") && $0.hasSuffix(" 3") })
        }
    }

    @Test func forgetAsksFirst() async throws {
        try await Harness.with { harness in
            #expect(await harness.run(["forget", "CR1-0042"]).code == .usage)
            let refused = await harness.run(["forget", "CR1-0042"], typing: ["n"], terminal: true)
            #expect(refused.code == .interrupted)
            #expect(refused.errors.contains("2 captures on it are not pulled yet"))
            #expect(
                await harness.run(["forget", "CR1-0042"], typing: ["y"], terminal: true).code == .success)
            #expect(await harness.run(["forget", "CR1-0042", "--yes", "--unbind"]).code == .success)
            #expect(await harness.run(["forget", "NONE", "--yes"]).code == .notFound)
            let forgotten = await harness.model.calls.filter { $0.hasPrefix("forget") }
            #expect(forgotten == ["forget CR1-0042 false", "forget CR1-0042 true"])
        }
    }

    /// One way to answer a question of a pairing, and what comes of it.
    struct PairCase: Sendable, CustomTestStringConvertible {
        let question: PairingQuestion
        var options: [String] = []
        var typed: [String]?
        let code: ExitCode
        var answer: PairingAnswer?
        var says = ""
        var testDescription: String { "\(question) \(options) \(typed ?? [])" }
    }

    @Test(arguments: [
        PairCase(
            question: .confirm(passkey: 42), typed: ["y"], code: .success, answer: .accept,
            says: "show 000042?"),
        PairCase(question: .confirm(passkey: 42), typed: ["n"], code: .failure, answer: .refuse),
        PairCase(question: .confirm(passkey: 42), typed: [], code: .failure, answer: .refuse),
        PairCase(
            question: .confirm(passkey: 42), options: ["--yes"], code: .success, answer: .accept,
            says: "without a look"),
        PairCase(question: .confirm(passkey: 42), code: .usage, says: "not a terminal"),
        PairCase(
            question: .confirm(passkey: 42), options: ["--passkey-file", "42"], code: .success,
            answer: .accept),
        PairCase(
            question: .confirm(passkey: 43), options: ["--passkey-file", "42"], code: .failure, says: "differ"
        ),
        PairCase(
            question: .enterPasskey, options: ["--passkey-file", "42"], code: .success, answer: .passkey(42)),
        PairCase(
            question: .enterPasskey, typed: ["12", "123 456"], code: .success, answer: .passkey(123_456)),
        PairCase(question: .enterPasskey, options: ["--yes"], code: .usage, says: "--passkey-file"),
        PairCase(question: .display(passkey: 7), code: .success, answer: .accept),
        PairCase(question: .justWorks, options: ["--yes"], code: .failure, says: "man in the middle"),
        PairCase(question: .justWorks, typed: ["y"], code: .failure, says: "--allow-just-works"),
        PairCase(
            question: .justWorks, options: ["--allow-just-works"], typed: ["y"], code: .success,
            answer: .accept),
        PairCase(
            question: .justWorks, options: ["--allow-just-works", "--yes"], code: .success, answer: .accept,
            says: "no protection"),
        PairCase(question: .justWorks, options: ["--allow-just-works"], code: .usage, says: "--yes"),
    ])
    func pairingAnswers(_ one: PairCase) async throws {
        try await Harness.with { harness in
            let directory = TemporaryDirectory()
            let file = directory.path + "/passkey"
            try Data("000042\n".utf8).write(to: URL(filePath: file))
            await harness.model.set(questions: [one.question])
            let options = one.options.map { $0 == "42" ? file : $0 }
            let result = await harness.run(
                ["pair", "--device", "X"] + options, typing: one.typed ?? [], terminal: one.typed != nil)
            #expect(result.code == one.code, "\(result.errors)")
            #expect(await harness.model.answers == (one.answer.map { [$0] } ?? []))
            #expect(one.says.isEmpty || result.errors.contains(one.says), "\(result.errors)")
        }
    }

    @Test func pairOnATerminalLooksAndAsksWhich() async throws {
        try await Harness.with { harness in
            let far = ScanResultDocument(address: "AA:AA", rssi: -90, paired: false, seenAt: Fixtures.now)
            await harness.model.set(found: [far, Fixtures.scanResult])
            let result = await harness.run(
                ["pair", "--json"], typing: [ScriptedInput.waits, "7", "2"], terminal: true)
            #expect(result.code == .success, "\(result.errors)")
            #expect(result.errors.contains("1  C0:FF:EE:00:00:42"))
            #expect(result.errors.contains("please answer with a number from 1 to 2, or q"))
            #expect(await harness.model.calls.contains("pair AA:AA false false false"))
        }
    }

    @Test func pairIsHonestAboutWhatStandsInTheWay() async throws {
        try await Harness.with { harness in
            #expect(await harness.run(["pair"]).code == .usage)
            var status = Fixtures.status
            for code in HealthItem.bluetoothTroubles {
                status.health = [
                    HealthItem(code: code, severity: "error", text: "it is \(code)", hint: "mend \(code)")
                ]
                await harness.model.set(status: status)
                let result = await harness.run(["pair", "--device", "X"])
                #expect(result.code == .adapterUnavailable)
                #expect(result.errors == "celestiad: it is \(code)\n  → mend \(code)\n")
            }
        }
    }

    @Test func syncFollowsToTheEnd() async throws {
        try await Harness.with { harness in
            #expect(await harness.run(["sync"]).code == .success)
            var status = Fixtures.status
            status.transfers = []
            status.recorders = []
            status.queue = QueueDocument()
            await harness.model.set(status: status)
            #expect(await harness.run(["sync", "CR1-0042", "--wait", "60"]).code == .success)
            status.queue = QueueDocument(
                pendingAssets: 1, readySessions: 0,
                waits: [
                    WaitDocument(
                        cause: "rejected", sessions: 1, text: "1 session waits (rejected): a bad title",
                        hint: "celestiad session retry 1b9d6bcd", needsUser: true)
                ])
            await harness.model.set(status: status)
            let partial = await harness.run(["sync", "--wait", "60"])
            #expect(partial.code == .partial)
            #expect(
                partial.errors
                    == "1 session waits (rejected): a bad title → celestiad session retry 1b9d6bcd\n")
        }
    }
}

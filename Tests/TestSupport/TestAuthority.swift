import Foundation

/// A certificate authority of its own for one test, made by openssl when it runs: no key lies in the repository.
package final class TestAuthority: Sendable {
    private let directory = TemporaryDirectory()

    /// The authority's own certificate, PEM.
    package var file: String { directory.path + "/ca.pem" }

    /// A server's certificate and key, PEM files, as the simulator's `--tls` takes them.
    package struct Identity: Sendable {
        package let certificate: String
        package let key: String
        /// As CURLOPT_PINNEDPUBLICKEY takes it.
        package let pin: String

        package var options: [String] { ["--tls", certificate, key] }
    }

    package enum Validity: String, Sendable {
        case current = "20200101000000Z 20991231235959Z"
        case expired = "20200101000000Z 20210101000000Z"
        case future = "20980101000000Z 20991231235959Z"
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package init() throws {
        let configuration = """
            [ca]
            default_ca = test
            [test]
            dir = .
            database = index.txt
            new_certs_dir = .
            certificate = ca.pem
            private_key = ca.key
            default_md = sha256
            policy = any
            copy_extensions = copy
            unique_subject = no
            rand_serial = yes
            [any]
            commonName = supplied
            """
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: directory.path + "/ca.conf"))
        try Data().write(to: URL(fileURLWithPath: directory.path + "/index.txt"))
        _ = try run(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 \
                -subj "/CN=Test authority" -keyout ca.key -out ca.pem
            """)
    }

    /// A certificate that the authority signed, for 127.0.0.1 unless said otherwise.
    package func identity(
        _ name: String, for names: String = "IP:127.0.0.1", _ validity: Validity = .current
    ) throws -> Identity {
        let dates = validity.rawValue.split(separator: " ")
        let pin = try run(
            """
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=\(name)" \
                -addext "subjectAltName=\(names)" -keyout \(name).key -out \(name).csr &&
            openssl ca -batch -notext -config ca.conf -startdate \(dates[0]) -enddate \(dates[1]) \
                -in \(name).csr -out \(name).pem &&
            openssl x509 -in \(name).pem -noout -pubkey | openssl pkey -pubin -outform DER |
                openssl dgst -sha256 -binary | base64
            """)
        let path = directory.path + "/" + name
        return Identity(certificate: path + ".pem", key: path + ".key", pin: "sha256//" + pin)
    }

    /// The last line that a shell command in the authority's directory prints.
    private func run(_ command: String) throws -> String {
        let script =
            "cd '\(directory.path)' && { \(command) ; } 2>error && echo done || { cat error; echo failed; }"
        let child = try StdinTetheredProcess(["sh", "-c", script])
        var lines: [String] = []
        while let line = try? child.readLine() {
            if line == "done" { return lines.last ?? "" }
            if line == "failed" { break }
            lines.append(line)
        }
        throw Failure(description: "openssl: \(lines.joined(separator: " "))")
    }
}

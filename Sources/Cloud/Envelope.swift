import FoundationEssentials
import HTTP

/// Reads `{code, message, data}` in two steps: first what every answer has, then the data that a call needs.
struct Envelope {
    let code: Int64
    let message: String
    private let body: Data

    private struct Head: Decodable {
        let code: Int64
        let message: String?

        private enum CodingKeys: CodingKey {
            case code, message
        }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            code = try fields.decode(Int64.self, forKey: .code)
            message = fields.lenient(String.self, .message)
        }
    }

    private struct Payload<Value: Decodable>: Decodable {
        let data: Value
    }

    /// What error answers carry for the decision.
    struct ErrorData: Decodable {
        var serverRevision: Int64?
        var requiredBytes: Int64?
        var remainingBytes: Int64?

        init() {}

        private enum CodingKeys: CodingKey {
            case serverRevision, requiredBytes, remainingBytes
        }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            serverRevision = fields.lenient(Int64.self, .serverRevision)
            requiredBytes = fields.lenient(Int64.self, .requiredBytes)
            remainingBytes = fields.lenient(Int64.self, .remainingBytes)
        }
    }

    /// nil when the bytes are not an envelope.
    init?(_ bytes: [UInt8]) {
        body = Data(bytes)
        guard let head = try? JSONDecoder().decode(Head.self, from: body) else { return nil }
        code = head.code
        message = Self.clean(head.message ?? "")
    }

    private init() {
        code = 0
        message = ""
        body = Data()
    }

    /// Stands for an answer without one.
    static let none = Envelope()

    var isSuccess: Bool { APIAssumptions.isSuccess(code: code) }

    /// The data, nil when it is absent, null or not what the call needs.
    func data<Value: Decodable>(_ type: Value.Type) -> Value? {
        (try? JSONDecoder().decode(Payload<Value>.self, from: body))?.data
    }

    var errorData: ErrorData { data(ErrorData.self) ?? ErrorData() }

    /// Somebody else's text, fit to be shown: one line, no control characters, at most 300 characters.
    static func clean(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(300).map { scalar -> Unicode.Scalar in
            scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
                || scalar.properties.generalCategory == .lineSeparator
                || scalar.properties.generalCategory == .paragraphSeparator ? " " : scalar
        }
        return String(String.UnicodeScalarView(scalars))
    }
}

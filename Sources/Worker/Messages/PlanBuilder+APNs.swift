import Encoding

extension PlanBuilder {
    /// Plans the targets of `pn_apns`.
    mutating func plan(_ payload: APNsPayload, root: RootKeys) {
        checkAlert(payload)
        let timeToLive = timeToLive(payload.timeToLive, root: root.timeToLive)
        var exclusions: Set<[UInt8]> = []
        addExclusions(payload.exclusions, isCaseIgnored: true, to: &exclusions)
        guard let push = configurations(nested: payload.push, root: root.push) else {
            let read = read(nil, of: payload, exclusions: exclusions)
            return planLegacyForm(payload, read, timeToLive)
        }
        guard push.isArray || push.isObject else {
            return fail(.apns, reason: "MissingTopic", "pn_push is \(push.kind.name), not a list of configurations")
        }
        for configuration in push.isObject ? [push] : Array(push.elements) where !configuration.isNull {
            guard configuration.isObject else {
                fail(.apns, reason: "MissingTopic", "pn_push holds \(configuration.kind.name), not a configuration")
                continue
            }
            let read = read(configuration, of: payload, exclusions: exclusions)
            plan(targetsOf: configuration, payload, read, timeToLive)
        }
    }

    /// The `pn_push` that counts: the nested one, or else the one at the message's root.
    private mutating func configurations(nested: JSONValue?, root: JSONValue?) -> JSONValue? {
        let nested = nested.flatMap(Self.presentPush)
        guard let root = root.flatMap(Self.presentPush) else { return nested }
        if nested != nil {
            notice("pn_push", "pn_push is in pn_apns and at the message's root; the one in pn_apns counts")
            return nested
        }
        notice("pn_push", "pn_push is at the message's root; it belongs into pn_apns")
        return root
    }

    /// `pn_push`, unless it says that there is none: an empty list, too, or one of nulls.
    private static func presentPush(_ value: JSONValue) -> JSONValue? {
        guard value.isArray else { return present(value) }
        return value.elements.contains { !$0.isNull } ? value : nil
    }

    private mutating func checkAlert(_ payload: APNsPayload) {
        guard let aps = payload.aps else {
            return notice("aps", "pn_apns has no aps; Apple shows nothing without it")
        }
        guard !aps.isObject else { return }
        notice("aps", "aps is \(aps.kind.name), not an object; it was sent as it is")
    }

    private mutating func planLegacyForm(_ payload: APNsPayload, _ read: APNsConfiguration, _ timeToLive: TimeToLive?) {
        var read = read
        if settings.defaultTopic == nil {
            read.failure = TargetFailure(
                reason: "MissingTopic",
                text: "pn_apns has no pn_push, and there is no default topic: add pn_push with a topic, "
                    + "or set PUSHBRIDGE_APNS_DEFAULT_TOPIC"
            )
        }
        add(
            topic: settings.defaultTopic,
            environment: settings.defaultEnvironment,
            payload,
            read,
            timeToLive,
            isLegacyForm: true
        )
    }

    private mutating func plan(
        targetsOf configuration: JSONValue,
        _ payload: APNsPayload,
        _ read: APNsConfiguration,
        _ timeToLive: TimeToLive?
    ) {
        let targets = present(configuration, "targets")
        if targets?.isObject == true { notice("targets", "targets is an object; it was taken as a list of one target") }
        let list = targets.map { $0.isObject ? [$0] : Array($0.elements) } ?? []
        guard list.contains(where: { !$0.isNull }) else {
            let what = targets.map { $0.isArray ? "an empty list" : $0.kind.name } ?? "missing"
            return fail(
                .apns,
                reason: "MissingTopic",
                "targets of a configuration is \(what): name at least one target"
            )
        }
        for target in list where !target.isNull {
            guard target.isObject else {
                fail(.apns, reason: "MissingTopic", "targets holds \(target.kind.name), not a target")
                continue
            }
            plan(target, payload, read, timeToLive)
        }
    }

    private mutating func plan(
        _ target: JSONValue,
        _ payload: APNsPayload,
        _ read: APNsConfiguration,
        _ timeToLive: TimeToLive?
    ) {
        let topicValue = present(target, "topic")
        let topic = topicValue?.string
        guard let environment = environment(of: target, topic: topic) else { return }
        guard let topicValue else {
            return fail(
                .apns,
                environment: environment.rawValue,
                reason: "MissingTopic",
                "a target has no topic: name the app's bundle ID"
            )
        }
        guard let topic else {
            return fail(
                .apns,
                environment: environment.rawValue,
                reason: "BadTopic",
                "topic is \(topicValue.kind.name): it must be the app's bundle ID"
            )
        }
        var read = read
        addExclusions(Self.exclusionLists(of: target), isCaseIgnored: true, to: &read.exclusions)
        add(topic: topic, environment: environment, payload, read, timeToLive, isLegacyForm: false)
    }

    /// The environment of a target; nil when it names none that there is, after noting the failure.
    private mutating func environment(of target: JSONValue, topic: String?) -> APNsEnvironment? {
        guard let value = present(target, "environment") else { return .development }
        let name = value.string?.lowercased() ?? ""
        if let environment = APNsEnvironment(rawValue: name) { return environment }
        if name == "sandbox" {
            notice("environment", "environment is \(Self.shown(value)); it is called \"development\"")
            return .development
        }
        fail(
            .apns,
            environment: value.string ?? Self.shown(value),
            topic: topic,
            reason: "BadEnvironment",
            "environment is \(Self.shown(value)): it may be \"development\" or \"production\""
        )
        return nil
    }

    /// Adds a target, or its exclusions to the equal one that is there.
    private mutating func add(
        topic: String?,
        environment: APNsEnvironment,
        _ payload: APNsPayload,
        _ read: APNsConfiguration,
        _ timeToLive: TimeToLive?,
        isLegacyForm: Bool
    ) {
        let identity = TargetIdentity(
            environment: environment,
            topic: topic ?? "",
            pushType: read.pushType,
            collapseID: read.collapseID
        )
        if let place = places[identity] {
            plan.targets[place].exclusions.formUnion(read.exclusions)
            return
        }
        guard plan.targets.count < Self.maximumTargets else {
            return fail(
                .apns,
                environment: environment.rawValue,
                topic: topic,
                reason: "TooManyTargets",
                "a message may have \(Self.maximumTargets) targets: spread them over several messages"
            )
        }
        places[identity] = plan.targets.count
        let suffix = read.pushType.topicSuffix
        let written = topic ?? ""
        let isSuffixAdded = !written.hasSuffix(suffix)
        plan.targets.append(
            Target(
                gateway: .apns,
                environment: environment,
                topic: topic,
                isLegacyForm: isLegacyForm,
                apns: APNsRequest(
                    topic: isSuffixAdded ? written + suffix : written,
                    isSuffixAdded: isSuffixAdded,
                    pushType: read.pushType,
                    priority: read.priority,
                    expiration: read.expiration,
                    collapseID: read.collapseID,
                    authMethod: read.authMethod
                ),
                body: payload.body,
                exclusions: read.exclusions,
                deadline: deadline(timeToLive, expiration: read.expiration),
                isSingleAttempt: timeToLive?.isSingleAttempt ?? false,
                failure: topic.flatMap(Self.failure(ofTopic:)) ?? read.failure
                    ?? Self.failure(ofSize: payload, read.pushType)
            )
        )
    }

    private static func failure(ofTopic topic: String) -> TargetFailure? {
        let isTopic = topic.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard !isTopic || !(1...255).contains(topic.utf8.count) else { return nil }
        return TargetFailure(
            reason: "BadTopic",
            text: "the topic is \"\(Printable.value(topic))\": it must be a bundle ID, 1 to 255 letters, digits, dots, "
                + "hyphens and underscores"
        )
    }

    private static func failure(ofSize payload: APNsPayload, _ pushType: PushType) -> TargetFailure? {
        let size = payload.body.count
        guard size > pushType.maximumPayloadBytes else { return nil }
        return TargetFailure(
            reason: "PayloadTooLarge",
            text: "the payload has \(size) bytes: Apple takes \(pushType.maximumPayloadBytes) for \(pushType.name)"
        )
    }

    /// Until when pushes may be sent: `pn_ttl` decides, or else the expiration, or else an hour.
    ///
    /// An expiration of 0 is Apple's word for "do not store", no moment.
    func deadline(_ timeToLive: TimeToLive?, expiration: Int64?) -> Int64 {
        if timeToLive == nil, let expiration, expiration > 0 { return expiration * 1000 }
        let limit = timeToLive?.milliseconds ?? Self.defaultTimeToLive
        let (deadline, isOver) = received.addingReportingOverflow(limit)
        return isOver ? .max : deadline
    }
}

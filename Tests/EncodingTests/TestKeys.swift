/// Keys for tests only; none of them opens anything.
enum TestKeys {
    /// The key of RFC 7515, appendix A.3, as PKCS#8.
    static let p256 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
        H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
        7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
        -----END PRIVATE KEY-----

        """

    /// The same key in the older form of EC keys (RFC 5915).
    static let p256OlderForm = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49
        AwEHoUQDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72b
        focs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
        -----END EC PRIVATE KEY-----

        """

    static let p384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCXybBBtGiKpmd+z8/r
        Crmf4NjeIgDIs3JIh5mtSC9F5D5O+NPekkTNQ2oywW7nlB6hZANiAASZxsAWvwX7
        wSTPldOTVQOnwGift1iAdbh8O6F29zdbu8SsgX0WSBF9GQi2S+2zokq6yYUKYLls
        x+XRZzfBda4QMYFhvKjvo0hxyssJUWnApolipFt69b4bmFET+gDTYiI=
        -----END PRIVATE KEY-----

        """

    static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjLPe2vw8Qj6gICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEELUjHAYIGRe0wQWb2ElqB/8EgZDJ
        DI9ycxJpodFQ/n0GsEdj1UaA0fetKF+XoqyJxCow4yrMkEr8qqv3ZGa0yiI+4ZdF
        PU/QZ5qUps+r5JeT9UVZVE4rUecAyvNV7GFPRFdxPXC/Fxz7tda/wVbW3DBxaJ+m
        KUCJe1nFPfP3cK3X1S5oHABQd7wkHqn5SEAdCI8aALDiuTpxfir5e33pTu6EE/w=
        -----END ENCRYPTED PRIVATE KEY-----

        """

    static let encryptedOlderForm = """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,2D28BD50F6E86885B3B89C2835DA24FE

        9j4gR3dOoyGuweWCzo2uvQkRLlyx3WUeV0Ki3XLxRolt+qFInKZtVeh6AJEUwnGK
        zRTLsWYOhbCx947B21lMqwkT3SpfDNto6/VEnBVp6P2N2I5CpwTzkab3yQpBOUt3
        O49PHUQwgu7ejYKBf1shmhRlNOojAVjAkn/ZVpEY9e0=
        -----END EC PRIVATE KEY-----

        """

    static let rsa = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDMCc6ojbQ8AK4K
        Zu/VUBaCsO7r+2BHZ//FakY/DG2e2rdB7gdcyH4FqC87+HWVluUMjTL1d8q+TX5I
        0zSnol+9thwrMzxBc2nN95r+z01FzL5KY0aR3HdWT/oK93HMfrtxe7VC4AWy6oLn
        i0n3xZl4HduL/fGrinRtoyMIKzZcqNnTPn9jwc6gInP14CHcTXr/hiMF0LaIT0Ee
        iAPRq7hMOnmxP/zCFIZzItlSTFcOa7aMPA8R9vTImfzxSkIX0vDTQxP65PCbd50Y
        I8hpEj+LTllcAnzNsI5RX50ky8WQmS7tsX8QdDEhN8l45fInXChrJUoHLe+H6pF/
        1Vm+pGUpAgMBAAECggEAA93BtTmY1d7mGAYIUGCdSepZX05a7i90eMSr7RZACNe4
        dj7bk9tWtqZlCBFhWlggIfiWTnFv0uL8BsbobgQVJVlLN68CWskkPZtjVqW4n0nN
        vJzHTGHtlEydU9I0LVL6G/XjTY+aJrWWjRWmF/7+CqPM3QkO/cL4tCUjDPdopyEh
        RzJLVo8njoLFMg/vyY4OHOGAP7Gm4u8kzQX1OCzxQGRsBxkD01arYD/+WQfs90Hd
        Kbq+foUmO/W8g4zIHHLnifMxsK0ighBEHX+I/1v/U4gConrjT6QPaZLU68jobOmD
        QPesPVE40sSzYRVoNpL0fOnI6t9j0JSM9eSoUyA3uwKBgQDwv86XTN/LxSpLfSm/
        yAudaDmEIXM9ozccMKGjdyv8tfyzBA37nvnTtYB173596DEXWDE0f9rCc0Q8jWn5
        d0jkV+qCpTn5VlsRLP6vVyGH/fvvDs2HwC127B022hTEIp/gvEfP9X/75mkhxKFP
        W2ZGuGBr60jC7+o99f2I4ChBbwKBgQDY9qormStOi73YPwhkUGp57qXSN39DhP1D
        KgHQBfIFl+OadDimvNJ33juANQR6UYVDct4bsWo0gny3+2+o9AaHlNwyq9bEuR2b
        8YnwYLlLQBW9T+HR7uQ1vYI0AJsh5oOG6/2nnglySRhbRKY4OQMHJCC9rVZPZ4QL
        tTZtPeNG5wKBgEmPwhdXBPbleuPwDaatAGeLZi+qbOUDjx5M+cbR7h3cmac1cPRW
        gi2fQu5GTJc6MG3ao8ZP3s8Vm18JMr1oJlynRF/BDrLSISdhYTzAWd2MzMMh+ckl
        /n5c7RxKjJfVoJZx0VuIvx+AKtWHmGaAHgMz6TpwfR4bYq6mEF8XZxV/AoGANCNK
        j4GWY6C3NXEoThr5C2YrGRJXFd2ukuZUWy4ik++FNYe6WW9E0KNp/ww+kDpo4OWI
        tHT1BbtZx0i384z4yLogFFkxGkM191SbBlXoEUpMLxs0NCPJWZS55k9C+GmRr+mk
        IhSbRoiEPuKHYzloHd4ztAEknZ5NoBajBqt5o38CgYEA8Gecybpr+LKtiygArxLE
        db0pH4BgbGsC3wa0ovh9A+5PWRYH1ilN29oMd0jgDPBV6aX/mhMmvzr49WTcCqBM
        dLrbmwcXL5PstS0vvF00SNlSm1pDAGdyJrt0T0LSlLaBwyH0gAvk5SDdrgQpGt8l
        fIeP/WE9eYBKsHl5Uadl63Q=
        -----END PRIVATE KEY-----

        """

    /// What `openssl dgst -sha256 -sign` makes of `header.claims` with ``rsa``.
    static let rsaSignature = """
        yQzz1zQ3ChgeFcmBXbxRjiXfFmJRkIKGdYMD+Qn3aDaa0TtWCWR63Nf6qFdaQtdWdd3iEc/XIjAiFKt0yPZhf6aWAR+oe9RZhLoA\
        CU4TiUCiY0Y2rYd+5o/7gmYrfYSE8DZCdD3mlR25ywlcOD5vC+SBBlt8LCKuM7rpRq5B2Dm7K1pUys5iTNa7kn5hJb6Uip2xfdGh\
        nOzC0YdoPhcefO+fLcUmfwPRRtT+UzdxJ8IGRxmiT+AJQz1nNPtK342SzGVxdSv7ksxG920hVajE+9gkCdzLwshblrQrSvSTkjK2\
        5skTgvN4IEhoTOcjaZMGmSICqb3u/aY2+x6I24vpfA==
        """

    static let rsa1024 = """
        -----BEGIN RSA PRIVATE KEY-----
        MIICXAIBAAKBgQDJ7INdcoOBuCyaaq0CtKP9irLUrMlfu+Es4BshwjMha+uz/0QE
        7lTjdiDuu7hxn3w4Mm/1DwuUuiUrf7b1DtDV2E52yB1dJL7FBvMslcnA29tjV0l+
        6uRRamhweoktX/8WHwyyEiPYDBxQ0/wN+kalxh60lhXvozHdITfOsLSxZwIDAQAB
        AoGAJ9m7m0esWH+GnfsLpgsMik9DN+HZ5EDqEbcw45q2CJSJ8f4g6HA45KM9oJ//
        qLz3AQhDPDP57yJFj64m53pDEHdfI5KjjNeQFmK8QD5E0u8IMZ4bWTiP8IzdNe1P
        Gd0LvXpHDxSHOdFksYT5A1wDhwz5rmOnyhMQbTJwyvMUBrECQQDlbGQqFD+IvKG+
        e/4N7tBriceMstAVtrtj+FqeEt+oT9Ej7JMMkJCrPWzxscIPc+sBfrr5yZkyYscI
        9uWnhkELAkEA4VCd2CABo9PxRSrXZHvzGAVGUfPDEA724AtnUWrM8VRAd8UWSBKy
        rsPVzE9HG2qtdRU9eS6nYFTXQVf2D+RClQJAI6sXY4dkXVDeYKwMUoQ3eRChqpk+
        SrHvLlq1U/AhP5yxKkGklwZ+x3C0WFtHjXl7Ju9aCG20WKYMxbME/2ebAwJBAKeM
        yoQwcOfCMPWtgRUBM2nWak+BBLpJVn6PHFqoIBUKARLPpd0cwnFBwhg3j/osXybl
        D5yw+9if3p6B6cIxjO0CQHLcB/zyJeNMlhw6GgMUmQBAOXdYSwW0UyrAw4tASvFr
        J1xXWlceMep3XMm+fBant7Y5SjlZvW8Zmw6XVwuUclc=
        -----END RSA PRIVATE KEY-----

        """
}

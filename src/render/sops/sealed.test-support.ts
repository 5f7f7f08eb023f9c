/** A key made for tests alone, and a Secret that sops 3.11 encrypted for it: `password: hunter2` and `count: 5` in `stringData`. */
export const testKey = 'AGE-SECRET-KEY-1MSSUF3U9TPQG54ED68VM37ZWPDU78QDEHWYCLESEYM2QK5W9SQLSE338K5';

/** The Secret `shop/keys` as sops wrote it. */
export const sealedSecret = `apiVersion: v1
kind: Secret
metadata:
    name: keys
    namespace: shop
stringData:
    password: ENC[AES256_GCM,data:9jVvDVHJKg==,iv:YtaAOURM1VH6R4Eg92KsI1Xl3vGIsHKyXzFbHwBXs0s=,tag:wqqaGoh9v6qLUnVIcIjB6g==,type:str]
    count: ENC[AES256_GCM,data:WA==,iv:j7YzZwe8xa0/kfv9MkSLjtoexMPcpaIpDqqp3xdburM=,tag:5kO85zJmgg8tQpaKMMY8Ng==,type:int]
sops:
    age:
        - recipient: age1ryxa7kpjem0m7m9099qq654jpenqshvl5ynajyl5e4p3ulymwd6q9jlr0y
          enc: |
            -----BEGIN AGE ENCRYPTED FILE-----
            YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBkaTAxTkU3UnBzSGdOUjRv
            cFgxRGxmWnZSVExPc0tieDM2alJGbS9SeVVnCjBmdGl0RUF0K1dXSVUyZ0VKMkVl
            aENQajZoT2RUWExaZ2VObE1xRHRXbFEKLS0tIHpkRmJoVkVFTm9JdDFHQm1tWW9W
            WW9BSEFnVUw4aVhyMStUWWlrMEhtL0EK6/4fMJl/iEiLxSmNVCdJOW5H0O3IhhQz
            /LwVjjRu6taF5zPUoWNnyDsS7KANBG7A9P2J8/L3s6H0opG0wmIO7w==
            -----END AGE ENCRYPTED FILE-----
    lastmodified: "2026-11-21T19:59:42Z"
    mac: ENC[AES256_GCM,data:MNaC1TSSo2pPqkaFnvvWvizeeDUT8Apfhl4vd5QrgAJbQugTewmYlcSfmEcHEHJie6tKX6Mmps+tF8LdQBInz7w+EoUxQuVUo6eimRKo//l1faCXpX2WP5fk5wRh0pVIqRmuV+SNLfjuqhUqnyKX70ykYN6nAgKNttUEraAU3Hk=,iv:UNBgejcqa6jUcU43Dhkf/uvMqFVzS0BYf2+EBE8T7T8=,tag:42upWNWz6jOaJr4Ei8lOSQ==,type:str]
    encrypted_regex: ^(data|stringData)$
    version: 3.11.0
`;

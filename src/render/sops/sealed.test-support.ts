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

/** Lists with comments between their items, which sops encrypts as further items: `[db.example.com, [1, two]]` in `stringData.hosts`. */
export const sealedLists = `apiVersion: v1
kind: Secret
metadata:
    name: keys
stringData:
    hosts:
        - ENC[AES256_GCM,data:v4PpD5G4YFlQjun4,iv:zQzYCEWepeRFAxf02LctQy90R6AhJxSdRi7xSQepxBk=,tag:yzP5v8BCyeB4cdbPq4HDMQ==,type:comment]
        - ENC[AES256_GCM,data:MhcQc8BEggIHeIbZ8JQ=,iv:uLc67KLLbcn8vae85G+wW8kvW2c2mDMeRNuL2WUIqTY=,tag:IoZxPo091S9sebwtDFgPqg==,type:str]
        - ENC[AES256_GCM,data:PX/aix8iUDRUbA==,iv:bOlvDhHb+vIaZxU/aAlIp+m/QhNqa2UWeCMT9OK21Ig=,tag:EiVgMvYWImXKFXmcX81D8w==,type:comment]
        - - ENC[AES256_GCM,data:IOswpCuG,iv:/NuvsN8qrQKnM1aQ399tdsEDslULUF4gBZzLWrv9i/w=,tag:TFsJJzXkW5fqFV6ZvRQa6Q==,type:comment]
          - ENC[AES256_GCM,data:hg==,iv:vRfWZMRQkD0uMVrHFAj947m61LoUTLEly0PdDLSbApA=,tag:QWxUp+Vbpky3H2l4QuZ2mA==,type:int]
          - ENC[AES256_GCM,data:LO1xXv0=,iv:5vDeFJIHNy88jvvVqddPDRB6Qqa+XyMtXCh16Zqplb0=,tag:EZmt5+zWn1OYtUwjSAlSEQ==,type:comment]
          - ENC[AES256_GCM,data:Ruso,iv:kNijJ5NzDemweYccvLXNU59aeRc/lwDdMgbuB9/znxs=,tag:g4WDy+jBS9K46Mb+ruyolw==,type:str]
sops:
    age:
        - recipient: age1ryxa7kpjem0m7m9099qq654jpenqshvl5ynajyl5e4p3ulymwd6q9jlr0y
          enc: |
            -----BEGIN AGE ENCRYPTED FILE-----
            YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSByWUZnN1RlWnlLSkk4OHgw
            Ly9MdUlsUjZybGkzc1BycTE4cXZmVUF1Q3pFClg5OFpWK2YxejZSdU9MTElHaWN2
            SExUKy9KZCs3T0JMeWN0S2E1MTdvNlkKLS0tIGtETUVCZEJsZWMzK2c1ZXAwdFhD
            MDU5ZkNPZWhhV1diMU1rWUFsRGdzalkKTe6TkeFJLvG+rgQfdrQzT+ypjQJ5EzXy
            PFhYCAtY4eCc9JCsam0xjBhlcotU13jSWBwgJ0dJViB3MeaEiHKTtg==
            -----END AGE ENCRYPTED FILE-----
    lastmodified: "2026-11-28T05:30:03Z"
    mac: ENC[AES256_GCM,data:FiaYGjPvKoHpsge1chN4qst0BRN4NMx1x57w4odxfpJMQn28ZHyqzcn/PmZmIClLpZBS1rSMtfARWc7yaUBRRyIpASNL/lksdN8A48IeRTt0DJ2H+Y3bEikGL+RblzLFIh/Ttz/wZa6FzM0YtaL6i5r9zj2Fdpiyo4Fsh1m8GPY=,iv:3/neK2N+tQuHDqj3ZDcZKF8YiMZBvnwbodOS+C/AoM4=,tag:qwZ7S19DRWwmwMX7PWUkXA==,type:str]
    encrypted_regex: ^(data|stringData)$
    version: 3.11.0
`;

/** A merge key as sops writes one: `data` holds `user: web` of `stringData`, and `role: admin`. */
export const sealedMerge = `apiVersion: v1
kind: Secret
metadata:
    name: keys
stringData:
    user: ENC[AES256_GCM,data:lQOq,iv:TGBOqGhmZTVh9xp/gkavmZX43/YavT0I44YDBqPwyrg=,tag:JP0PEYsx5IWbMRhr2qaQUQ==,type:str]
data:
    !!merge <<:
        user: ENC[AES256_GCM,data:XIP0,iv:Qs4VNK+aQk1xPIwcmTrT5ZmaEig+tAweXnGW9JJ4aOM=,tag:R8W4ii4L70+b63VFVjj00g==,type:str]
    role: ENC[AES256_GCM,data:zO4hSZY=,iv:dOEtRe3NMUfuv5x9xQKUOADWirELTVbr2/dhVkW86tk=,tag:bhriRz6MRIIkqFcmv4Zz6A==,type:str]
sops:
    age:
        - recipient: age1ryxa7kpjem0m7m9099qq654jpenqshvl5ynajyl5e4p3ulymwd6q9jlr0y
          enc: |
            -----BEGIN AGE ENCRYPTED FILE-----
            YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBBMTVpWUdqNEdoMjRkRldG
            UTNDUDY5WmoyK1ZPVkErN0FobWd4K0xiMWtFCnZYSmNWQVZZMm1aR0lla0lSbUt2
            K3haNGVLZmNid05XTGFjWEpLVFRVUGcKLS0tIEFrM0RhM281RXJJbkFWUEpxSmZi
            VDZodTluaDBXL2JXQWdJQ2htUlZGMjgKFvfsayYPb8iWm3K+3tsJh/+HuoUXPo4i
            CTWfISYVRUGi6e0G4Qgs8Yxg5RhFUw7igm3cSVQdgzs11Fdu/Q6m3Q==
            -----END AGE ENCRYPTED FILE-----
    lastmodified: "2026-11-28T05:32:18Z"
    mac: ENC[AES256_GCM,data:v0l4/GdITCqvY+btK1YaWrBe4PO00sUHSNwFPdLQfs2kKcYZig38N56PnIjoAeKEaqFmFFQGzTdvwgXU674KV/oF+bt8cHc0DwMV9BItOuBPhfd9DgRcxVNAcbz6YDxJTEWy2CLUEKs+AaHbPqO02e1KKcRcW/ldzNwY173/IDA=,iv:U+gc4gj9l4l0xK+dnmln4xF/prS+30vKL1OSB32FE/A=,tag:BcAbvjofVfVhpu/73TKGKQ==,type:str]
    encrypted_regex: ^(data|stringData)$
    version: 3.11.0
`;

/** Lists of which sops encrypted comments alone: `hosts: []` and `nested: [[], one]` in `stringData`, each `[]` with a comment behind it. */
export const sealedEmptyLists = `apiVersion: v1
kind: Secret
metadata:
    name: keys
stringData:
    hosts:
        - ENC[AES256_GCM,data:DZlzbcs=,iv:DsarWJHIaWJu8ievau7d9IXQVlEJrHPMj6uDjf0mOdw=,tag:4Xw5xPqAJaXvA1BZIukajQ==,type:comment]
    nested:
        - ENC[AES256_GCM,data:wSx4kBI=,iv:TD/pVMvNwyV/qFVpreULo9y080ilXlWGOmidxfsNtdQ=,tag:Xj165atnOTpMeibgeoYEtA==,type:comment]
        - []
        - ENC[AES256_GCM,data:xAC2,iv:6WebkNTbTwci916/Hdb8cqlMzcfMKSi8r8Imx+UkkBA=,tag:dO/9Xk6jOVvTQc+S/ktLWA==,type:str]
sops:
    age:
        - recipient: age1ryxa7kpjem0m7m9099qq654jpenqshvl5ynajyl5e4p3ulymwd6q9jlr0y
          enc: |
            -----BEGIN AGE ENCRYPTED FILE-----
            YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSAzeFFQc0VMOFkzTkRmTG5E
            eENTRFk4bnAyWWdrRGhRaEIyd3VHVTQyb2pVCnZFN0N6YkVBSHZ0ZnhQUG9IenNx
            ZzNqbjlsYVJjZ0ZSQ0t2bTM1UVBqcUEKLS0tIGlDbUJ1TmhUNXBaQkIwUE91YzdG
            elNxU3pmTmpObzdnUmE4NlZhM3R5TDQKsgDrxIIF+GLkTwOKPZ6p6nmHIFTr7Ij2
            NXzhic7H5kqd0/8ElPWOLgpFIRqcKhUxBFqw0Vyop14MCuZA2fiqnw==
            -----END AGE ENCRYPTED FILE-----
    lastmodified: "2026-11-28T17:44:59Z"
    mac: ENC[AES256_GCM,data:g9g5rpKYvSeFlGcv88c9rhN8JDF4xTv8kcxwEn3q+wJb0XyhyFTogVIkugykQ4Ijy33d58oXVEc1AfqaFwPAe/F1f9vkg7gHzc7lWZzrm2b8eUkIYVzENzedorkSerV0jGMmHVIkiZqa7iPhHWYWIlWQaIwzte1exU2BDoLA/7Q=,iv:2C2JW+DWcODe4yFKfyS+vFDJgQBUffNNhjLNeoGIg9E=,tag:5CU6UCw3eTfmi+iJe84B9Q==,type:str]
    encrypted_regex: ^(data|stringData)$
    version: 3.11.0
`;

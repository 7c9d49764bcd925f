/** Key files, password hashes, wallets and forms of no particular provider. */
import { defineNearRule, defineRule, hasBcryptCost, type SecretRule } from './secret-rule.ts';

export const keyRules: readonly SecretRule[] = [
  defineRule('age-secret-key', ['AGE-SECRET-KEY-{w50-64}', 'AGE-PLUGIN-{u3-20}-1{u20-100}'], {
    fold: true,
  }),
  defineRule('openssh-key-body', 'b3BlbnNzaC1rZXktdjE{b20-2000}'),
  defineRule('putty-key-mac', 'Private-MAC: [{h40-64}]'),
  defineRule('minisign-secret-key', 'RWRTY0Iy{b60-250}{=0-2}'),
  defineRule(
    'wireguard-key',
    ['PrivateKey{ 0-2}={ 0-2}[{b43}=]', 'PresharedKey{ 0-2}={ 0-2}[{b43}=]'],
    {
      fold: true,
    },
  ),
  defineRule('laravel-app-key', 'base64:[{b43}=]'),
  defineRule('otpauth-secret', 'otpauth://{w4}/{v1-200}secret=[{w16-128}]', { wordy: true }),
  defineRule('bcrypt-hash', ['$2(a|b|x|y)${d2}${o50-60}'], { checksum: hasBcryptCost }),
  defineRule('crypt-hash', '$(1|5|6|7|8|9|y|gy|sha1|apr1|md5|argon2id|argon2i|argon2d)${k24-240}'),
  defineRule('pbkdf2-hash', [
    'pbkdf2_(sha256|sha1|sha512)${d2-8}${w4-64}${b20-128}{=0-2}',
    '$pbkdf2-(sha256|sha512)${d2-8}${o4-64}${o20-128}',
    'pbkdf2:(sha256|sha512|sha1):{d2-8}${w4-64}${h40-128}',
    'scrypt:{d2-8}:{d1-3}:{d1-3}${w4-64}${h64-128}',
    '$scrypt$ln={d1-2},r={d1-2},p={d1-2}${b8-64}${b20-128}{=0-2}',
  ]),
  defineRule('ldap-hash', '(SSHA|SMD5|SSHA256|SSHA512|CRYPT)}[{o24-120}{=0-2}]'),
  defineRule('postgres-hash', [
    'md5{h32}',
    'SCRAM-SHA-(1|256|512)${d1-8}:{b8-64}{=0-2}${b20-100}{=0-2}:{b20-100}{=0-2}',
  ]),
  defineRule('k3s-token', ['K10{h64}::(server|node|agent):{w16-64}', 'K10{h64}::{l6}.{l16}']),
  defineRule('docker-config', [
    '(eyJhdXRocyI6|eyAiYXV0aHMi|ewogICJhdXRocyI6){b30-4000}{=0-2}',
    '(ewogICAgImF1dGhzIj|ewoJImF1dGhzIj){b30-4000}{=0-2}',
  ]),
  defineRule('krb5-hash', '$krb{v40-600}'),
  defineRule('ntlm-hash', [':500:[{h32}:{h32}]:::', 'aad3b435b51404eeaad3b435b51404ee:[{h32}]']),
  defineRule('dcc2-hash', '$DCC2${d4-8}#{v1-40}#[{h32}]'),
  defineRule('bitcoin-extended-key', '(xprv|yprv|zprv|tprv){w100-112}'),
  defineRule('nostr-key', 'nsec1{l58}'),
  defineRule('cosmos-key', '(ed25519|secp256k1)priv{w40-100}'),
  defineRule('tezos-key', '(edsk|spsk|p2sk|edesk){w50-100}'),
  defineNearRule(
    'ethereum-key',
    ['private_key', 'privatekey', 'private key', 'priv_key', 'wallet_key'],
    ['0x{H64}', '{H64}'],
  ),
  defineNearRule(
    'bitcoin-wif',
    ['private', 'wif', 'privkey', 'dumpprivkey', 'importprivkey'],
    ['5{w50}', 'K{w51}', 'L{w51}'],
  ),
  defineNearRule('stellar-seed', ['stellar', 'secret seed', 'seed'], 'S{t55}'),
  defineNearRule('fernet-key', ['fernet', 'airflow__core'], '{s43}='),
  defineNearRule(
    'rails-master-key',
    ['master.key', 'rails_master_key', 'secret_key_base'],
    ['{h32}', '{h128}'],
  ),
  defineNearRule(
    'infura-key',
    ['infura', 'alchemy', 'quicknode', 'moralis', 'etherscan', 'ankr'],
    ['{h32}', '{s32}', '{u34}', '{s32-64}'],
  ),
  defineRule('infura-url', [
    'infura.io/v3/[{h32}]',
    'g.alchemy.com/v2/[{s32}]',
    'quiknode.pro/[{h40}]',
  ]),
  defineRule('inngest-key', 'signkey-(prod|test|branch|dev)-{h32-64}'),
  defineRule('hcaptcha-secret', ['ES_{h32}', '0x4AAAAAAA{s12-40}']),
];

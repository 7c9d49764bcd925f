/** Keys of clouds and services that are used mainly in one region. */
import { defineNearRule, defineRule, type SecretRule } from './secret-rule.ts';

export const regionalRules: readonly SecretRule[] = [
  defineRule('alibaba-access-key', 'LTAI{w12-30}'),
  defineRule('alibaba-sts-token', ['STS.{w20-60}', 'CAIS{e100-1200}']),
  defineNearRule(
    'alibaba-secret',
    ['alibaba', 'aliyun', 'alicloud', 'accesskeysecret', 'access_key_secret'],
    ['{w28-44}'],
  ),
  defineRule('tencent-secret-id', ['AKID{w28-40}', 'IKID{w28-40}']),
  defineNearRule('tencent-secret', ['tencent', 'qcloud'], '{w32}'),
  defineRule('volcengine-key', 'AKLT{w28-60}'),
  defineRule('baidu-key', ['bce-v3/(ALTAK|ALTAKSP)-{w16-40}/{h40}', 'ALTAK{w16-40}']),
  defineNearRule('baidu-secret', ['baidu', 'bce_'], '{w24-40}'),
  defineNearRule('huawei-key', ['huawei', 'hwcloud', 'obs_'], ['{u20}', '{w40}']),
  defineNearRule('qiniu-key', ['qiniu', 'upyun', 'ucloud', 'ksyun', 'kingsoft'], '{s40}'),
  defineRule('jdcloud-key', 'JDC_{u20-40}'),
  defineNearRule(
    'wechat-secret',
    ['wechat', 'weixin', 'wx_app', 'appsecret', 'dingtalk', 'feishu'],
    ['{h32}', '{s32-64}'],
  ),
  defineRule('yandex-token', ['(y0|y1|y2|y3)_{s50-66}', 't1.{e80-300}.{s80-90}', 'AQVN{s34-40}']),
  defineRule('yandex-key', '(YCAJE|YCAJ|YCN|YCM|YCO|YCP){s20-40}'),
  defineNearRule(
    'yandex-secret',
    ['yandex', 'yc_', 'tinkoff', 'sberbank', 'vkontakte'],
    ['{s38-44}', '{h64}'],
  ),
  defineRule('vk-token', 'vk1.a.{s60-250}'),
  defineNearRule('kakao-key', ['kakao', 'naver', 'ncloud', 'toss_'], ['{h32}', '{w20-44}']),
  defineNearRule(
    'rakuten-key',
    ['rakuten', 'sakura_', 'cybozu', 'chatwork', 'kintone'],
    ['{h32}', '{s32-64}'],
  ),
  defineNearRule(
    'mercado-key',
    ['mercadopago', 'pagseguro', 'rdstation', 'vtex'],
    ['{U}', '{h32}', '{u32}'],
  ),
  defineNearRule(
    'india-key',
    ['razorpay', 'cashfree', 'instamojo', 'paytm', 'msg91'],
    ['{w24}', '{h32-64}'],
  ),
  defineNearRule(
    'ovh-application-key',
    ['ovh_application', 'ovh_consumer', 'online.net', 'infomaniak'],
    ['{w16}', '{w32}', '{s40-80}'],
  ),
];

/** Keys of clouds and services that are used mainly in one region. */
import { near, rule, type Rule } from './rule.ts';

export const regionalRules: readonly Rule[] = [
  rule('alibaba-access-key', 'LTAI{w12-30}'),
  rule('alibaba-sts-token', ['STS.{w20-60}', 'CAIS{e100-1200}']),
  near(
    'alibaba-secret',
    ['alibaba', 'aliyun', 'alicloud', 'accesskeysecret', 'access_key_secret'],
    ['{w28-44}'],
  ),
  rule('tencent-secret-id', ['AKID{w28-40}', 'IKID{w28-40}']),
  near('tencent-secret', ['tencent', 'qcloud'], '{w32}'),
  rule('volcengine-key', 'AKLT{w28-60}'),
  rule('baidu-key', ['bce-v3/(ALTAK|ALTAKSP)-{w16-40}/{h40}', 'ALTAK{w16-40}']),
  near('baidu-secret', ['baidu', 'bce_'], '{w24-40}'),
  near('huawei-key', ['huawei', 'hwcloud', 'obs_'], ['{u20}', '{w40}']),
  near('qiniu-key', ['qiniu', 'upyun', 'ucloud', 'ksyun', 'kingsoft'], '{s40}'),
  rule('jdcloud-key', 'JDC_{u20-40}'),
  near(
    'wechat-secret',
    ['wechat', 'weixin', 'wx_app', 'appsecret', 'dingtalk', 'feishu'],
    ['{h32}', '{s32-64}'],
  ),
  rule('yandex-token', ['(y0|y1|y2|y3)_{s50-66}', 't1.{e80-300}.{s80-90}', 'AQVN{s34-40}']),
  rule('yandex-key', '(YCAJE|YCAJ|YCN|YCM|YCO|YCP){s20-40}'),
  near(
    'yandex-secret',
    ['yandex', 'yc_', 'tinkoff', 'sberbank', 'vkontakte'],
    ['{s38-44}', '{h64}'],
  ),
  rule('vk-token', 'vk1.a.{s60-250}'),
  near('kakao-key', ['kakao', 'naver', 'ncloud', 'toss_'], ['{h32}', '{w20-44}']),
  near(
    'rakuten-key',
    ['rakuten', 'sakura_', 'cybozu', 'chatwork', 'kintone'],
    ['{h32}', '{s32-64}'],
  ),
  near('mercado-key', ['mercadopago', 'pagseguro', 'rdstation', 'vtex'], ['{U}', '{h32}', '{u32}']),
  near('india-key', ['razorpay', 'cashfree', 'instamojo', 'paytm', 'msg91'], ['{w24}', '{h32-64}']),
  near(
    'ovh-application-key',
    ['ovh_application', 'ovh_consumer', 'online.net', 'infomaniak'],
    ['{w16}', '{w32}', '{s40-80}'],
  ),
];

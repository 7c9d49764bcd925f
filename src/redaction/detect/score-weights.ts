/** Signed bytes, made by tools/train-score.ts: a row a unit, its bias last; then the output. */
export const hiddenUnits = 20;
export const scoreWeights = {
  scales: [
    0.01018, 0.017292, 0.017612, 0.0056772, 0.016475, 0.0083251, 0.0062101, 0.0069043, 0.016722,
    0.0014083, 0.012578, 0.0071893, 0.012712, 0.019094, 0.014534, 0.011283, 0.012055, 0.0048862,
    0.017181, 0.024057, 0.019759,
  ],
  bytes: [
    'ELXER/i5QSobLhzE2NnqGDIIFRklTwomDyoUvq1T7kCBEMAI7wEPqwwpG/LrEgQGAroe5P7tztkB/hr8DvPuCfmq34Ec',
    'H/b0Hg4CGekBGQMHFam/9h0h/PYrJPkIKvL62BXRAvfzB+ntETqBJffy1Mq7+AbeIhApFQQS1t0nB+TTFzxUyW5TRDhh',
    'SCRmXLfE/zZUVGUTmOp2T/T+OMl/c+HjTTSBvAkLEAb49UgBCQ4CDt8Q0e/3AxHl9B1Lgi8XF6HczAoUh0P4MhICDg46',
    'IbQrBgnJ7hEZgf3p4BhC+gUwJgAWDL/c+yYkyAEg+9sjxdtLDTYa+TMY+ksNEAXq6SD0tQ+p4xQeDuAK5BUDA4EwUxwH',
    '8ySxED+PgRITFxErqyDoziQWRyqzNj1rFWsQKyQzwdonPUhwahbb7i0uvUP/ugl/+d8zCF0u7goqFgzpwhL3geDB7/oX',
    '9hcV/iQD+8PynfL4//Mj5QIWq+jJD+0WEgBGAEzTIwAAzAQAAAAAx+QH+Khf+kOWAAMA/QMAAAAE11QAAAAAAIGY2BPl',
    'NdcU8n/3GNIfHf0Y4/ERLBH2Ai1prj80GNPv5SXKi2Q8FR4AD93sPyym9zctM9h/SVpKdjYWMxresuJHEVg5Jd/UdE6j',
    'SU3yVELO8/UB7/Av9NMN9yv05D4TKRhI+Bcj/+cA8x7/CwTyyc1/xaAvBcQ4Nf74Bx0DxwbN/vkWAUACDt7vBf0eAAki',
    'HfscCBg4CgAI8icIMg3TgTz19xPcAUf+7QwbBuQNgwD0Et7o1PQGEQvw6vT75YGW5xIJEe0d8gw1k9beHe8BztUT7heu',
    'LxJ3KQ/eFMfyLhzxOn9YcB8iOys3t5nr4wKu3P++/OIetyM3JNQpJvr1+aT5A+Hb1+YT+xv1+Rb4F/GBl+b/FQvaGe4O',
    'LbndFxLh+sX0GCiB9DtgYvt0citxb0JuSfi/my5BOhUwAouhalXrMUzhX3sG7EgrF/uPKErKBSbcxgMOzdn08Pkf8AEV',
    'EOji4YG5TeP15t77At8DGkgaIQMC29Hm/QL2+ioW5vgQ0hz//Qz1+voFDwFFIH/68BP67BvoG/kJFPUFC8LcqRWl4PEe',
    'uAGHHCasu6DbIYFREg==',
  ].join(''),
};

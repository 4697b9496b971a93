// The functions of the emulator, found in its library by name as a program finds those of the
// driver.
#pragma once

#include "tests/cuda_emulator/abi/cublaslt.h"
#include "tests/cuda_emulator/abi/cuda.h"
#include "tests/cuda_emulator/abi/cudnn.h"
#include "tests/cuda_emulator/abi/nccl.h"
#include "tests/cuda_emulator/abi/nvrtc.h"

namespace emulator_test {

void* find_function(const char* name);

// A pointer to a function of the library, of the type that the header declares.
template <class F>
struct Imported {
  F* function;
  explicit Imported(const char* name) : function(reinterpret_cast<F*>(find_function(name))) {}
  template <class... A>
  auto operator()(A... arguments) const {
    return function(arguments...);
  }
};

struct Library {
  Imported<decltype(::cuInit)> cuInit{"cuInit"};
  Imported<decltype(::cuDriverGetVersion)> cuDriverGetVersion{"cuDriverGetVersion"};
  Imported<decltype(::cuGetErrorName)> cuGetErrorName{"cuGetErrorName"};
  Imported<decltype(::cuGetErrorString)> cuGetErrorString{"cuGetErrorString"};
  Imported<decltype(::cuGetProcAddress_v2)> cuGetProcAddress_v2{"cuGetProcAddress_v2"};
  Imported<decltype(::cuDeviceGetCount)> cuDeviceGetCount{"cuDeviceGetCount"};
  Imported<decltype(::cuDeviceGet)> cuDeviceGet{"cuDeviceGet"};
  Imported<decltype(::cuDeviceGetName)> cuDeviceGetName{"cuDeviceGetName"};
  Imported<decltype(::cuDeviceGetAttribute)> cuDeviceGetAttribute{"cuDeviceGetAttribute"};
  Imported<decltype(::cuDeviceTotalMem_v2)> cuDeviceTotalMem_v2{"cuDeviceTotalMem_v2"};
  Imported<decltype(::cuDeviceGetUuid_v2)> cuDeviceGetUuid_v2{"cuDeviceGetUuid_v2"};
  Imported<decltype(::cuDeviceCanAccessPeer)> cuDeviceCanAccessPeer{"cuDeviceCanAccessPeer"};
  Imported<decltype(::cuDevicePrimaryCtxRetain)> cuDevicePrimaryCtxRetain{
      "cuDevicePrimaryCtxRetain"};
  Imported<decltype(::cuDevicePrimaryCtxRelease_v2)> cuDevicePrimaryCtxRelease_v2{
      "cuDevicePrimaryCtxRelease_v2"};
  Imported<decltype(::cuCtxSetCurrent)> cuCtxSetCurrent{"cuCtxSetCurrent"};
  Imported<decltype(::cuCtxGetCurrent)> cuCtxGetCurrent{"cuCtxGetCurrent"};
  Imported<decltype(::cuCtxGetDevice)> cuCtxGetDevice{"cuCtxGetDevice"};
  Imported<decltype(::cuCtxSynchronize)> cuCtxSynchronize{"cuCtxSynchronize"};
  Imported<decltype(::cuMemGetInfo_v2)> cuMemGetInfo_v2{"cuMemGetInfo_v2"};
  Imported<decltype(::cuMemAlloc_v2)> cuMemAlloc_v2{"cuMemAlloc_v2"};
  Imported<decltype(::cuMemFree_v2)> cuMemFree_v2{"cuMemFree_v2"};
  Imported<decltype(::cuMemAllocAsync)> cuMemAllocAsync{"cuMemAllocAsync"};
  Imported<decltype(::cuMemFreeAsync)> cuMemFreeAsync{"cuMemFreeAsync"};
  Imported<decltype(::cuMemAllocFromPoolAsync)> cuMemAllocFromPoolAsync{"cuMemAllocFromPoolAsync"};
  Imported<decltype(::cuMemPoolCreate)> cuMemPoolCreate{"cuMemPoolCreate"};
  Imported<decltype(::cuMemPoolDestroy)> cuMemPoolDestroy{"cuMemPoolDestroy"};
  Imported<decltype(::cuMemPoolSetAttribute)> cuMemPoolSetAttribute{"cuMemPoolSetAttribute"};
  Imported<decltype(::cuMemPoolGetAttribute)> cuMemPoolGetAttribute{"cuMemPoolGetAttribute"};
  Imported<decltype(::cuMemPoolTrimTo)> cuMemPoolTrimTo{"cuMemPoolTrimTo"};
  Imported<decltype(::cuDeviceGetDefaultMemPool)> cuDeviceGetDefaultMemPool{
      "cuDeviceGetDefaultMemPool"};
  Imported<decltype(::cuMemHostAlloc)> cuMemHostAlloc{"cuMemHostAlloc"};
  Imported<decltype(::cuMemFreeHost)> cuMemFreeHost{"cuMemFreeHost"};
  Imported<decltype(::cuMemHostRegister_v2)> cuMemHostRegister_v2{"cuMemHostRegister_v2"};
  Imported<decltype(::cuMemHostUnregister)> cuMemHostUnregister{"cuMemHostUnregister"};
  Imported<decltype(::cuMemHostGetDevicePointer_v2)> cuMemHostGetDevicePointer_v2{
      "cuMemHostGetDevicePointer_v2"};
  Imported<decltype(::cuPointerGetAttribute)> cuPointerGetAttribute{"cuPointerGetAttribute"};
  Imported<decltype(::cuMemcpyHtoD_v2)> cuMemcpyHtoD_v2{"cuMemcpyHtoD_v2"};
  Imported<decltype(::cuMemcpyDtoH_v2)> cuMemcpyDtoH_v2{"cuMemcpyDtoH_v2"};
  Imported<decltype(::cuMemcpyDtoD_v2)> cuMemcpyDtoD_v2{"cuMemcpyDtoD_v2"};
  Imported<decltype(::cuMemcpyHtoDAsync_v2)> cuMemcpyHtoDAsync_v2{"cuMemcpyHtoDAsync_v2"};
  Imported<decltype(::cuMemcpyDtoHAsync_v2)> cuMemcpyDtoHAsync_v2{"cuMemcpyDtoHAsync_v2"};
  Imported<decltype(::cuMemcpyDtoDAsync_v2)> cuMemcpyDtoDAsync_v2{"cuMemcpyDtoDAsync_v2"};
  Imported<decltype(::cuMemcpyPeerAsync)> cuMemcpyPeerAsync{"cuMemcpyPeerAsync"};
  Imported<decltype(::cuMemcpy2DAsync_v2)> cuMemcpy2DAsync_v2{"cuMemcpy2DAsync_v2"};
  Imported<decltype(::cuMemsetD8Async)> cuMemsetD8Async{"cuMemsetD8Async"};
  Imported<decltype(::cuMemsetD16Async)> cuMemsetD16Async{"cuMemsetD16Async"};
  Imported<decltype(::cuMemsetD32Async)> cuMemsetD32Async{"cuMemsetD32Async"};
  Imported<decltype(::cuStreamCreate)> cuStreamCreate{"cuStreamCreate"};
  Imported<decltype(::cuStreamCreateWithPriority)> cuStreamCreateWithPriority{
      "cuStreamCreateWithPriority"};
  Imported<decltype(::cuStreamDestroy_v2)> cuStreamDestroy_v2{"cuStreamDestroy_v2"};
  Imported<decltype(::cuStreamSynchronize)> cuStreamSynchronize{"cuStreamSynchronize"};
  Imported<decltype(::cuStreamQuery)> cuStreamQuery{"cuStreamQuery"};
  Imported<decltype(::cuStreamWaitEvent)> cuStreamWaitEvent{"cuStreamWaitEvent"};
  Imported<decltype(::cuStreamBeginCapture_v2)> cuStreamBeginCapture_v2{"cuStreamBeginCapture_v2"};
  Imported<decltype(::cuStreamEndCapture)> cuStreamEndCapture{"cuStreamEndCapture"};
  Imported<decltype(::cuStreamIsCapturing)> cuStreamIsCapturing{"cuStreamIsCapturing"};
  Imported<decltype(::cuEventCreate)> cuEventCreate{"cuEventCreate"};
  Imported<decltype(::cuEventDestroy_v2)> cuEventDestroy_v2{"cuEventDestroy_v2"};
  Imported<decltype(::cuEventRecord)> cuEventRecord{"cuEventRecord"};
  Imported<decltype(::cuEventQuery)> cuEventQuery{"cuEventQuery"};
  Imported<decltype(::cuEventSynchronize)> cuEventSynchronize{"cuEventSynchronize"};
  Imported<decltype(::cuEventElapsedTime)> cuEventElapsedTime{"cuEventElapsedTime"};
  Imported<decltype(::cuLaunchHostFunc)> cuLaunchHostFunc{"cuLaunchHostFunc"};
  Imported<decltype(::cuModuleLoadData)> cuModuleLoadData{"cuModuleLoadData"};
  Imported<decltype(::cuModuleLoadDataEx)> cuModuleLoadDataEx{"cuModuleLoadDataEx"};
  Imported<decltype(::cuModuleUnload)> cuModuleUnload{"cuModuleUnload"};
  Imported<decltype(::cuModuleGetFunction)> cuModuleGetFunction{"cuModuleGetFunction"};
  Imported<decltype(::cuModuleGetGlobal_v2)> cuModuleGetGlobal_v2{"cuModuleGetGlobal_v2"};
  Imported<decltype(::cuFuncGetAttribute)> cuFuncGetAttribute{"cuFuncGetAttribute"};
  Imported<decltype(::cuFuncSetAttribute)> cuFuncSetAttribute{"cuFuncSetAttribute"};
  Imported<decltype(::cuOccupancyMaxActiveBlocksPerMultiprocessor)>
      cuOccupancyMaxActiveBlocksPerMultiprocessor{"cuOccupancyMaxActiveBlocksPerMultiprocessor"};
  Imported<decltype(::cuLaunchKernel)> cuLaunchKernel{"cuLaunchKernel"};
  Imported<decltype(::cuGraphInstantiateWithFlags)> cuGraphInstantiateWithFlags{
      "cuGraphInstantiateWithFlags"};
  Imported<decltype(::cuGraphLaunch)> cuGraphLaunch{"cuGraphLaunch"};
  Imported<decltype(::cuGraphDestroy)> cuGraphDestroy{"cuGraphDestroy"};
  Imported<decltype(::cuGraphExecDestroy)> cuGraphExecDestroy{"cuGraphExecDestroy"};
  Imported<decltype(::cuGraphExecUpdate_v2)> cuGraphExecUpdate_v2{"cuGraphExecUpdate_v2"};
  Imported<decltype(::cuGraphGetNodes)> cuGraphGetNodes{"cuGraphGetNodes"};
  Imported<decltype(::cuGraphNodeGetType)> cuGraphNodeGetType{"cuGraphNodeGetType"};
  Imported<decltype(::plait_emulator_findings)> plait_emulator_findings{"plait_emulator_findings"};
  Imported<decltype(::plait_emulator_reset)> plait_emulator_reset{"plait_emulator_reset"};
  Imported<decltype(::nvrtcVersion)> nvrtcVersion{"nvrtcVersion"};
  Imported<decltype(::nvrtcGetErrorString)> nvrtcGetErrorString{"nvrtcGetErrorString"};
  Imported<decltype(::nvrtcCreateProgram)> nvrtcCreateProgram{"nvrtcCreateProgram"};
  Imported<decltype(::nvrtcDestroyProgram)> nvrtcDestroyProgram{"nvrtcDestroyProgram"};
  Imported<decltype(::nvrtcCompileProgram)> nvrtcCompileProgram{"nvrtcCompileProgram"};
  Imported<decltype(::nvrtcGetProgramLogSize)> nvrtcGetProgramLogSize{"nvrtcGetProgramLogSize"};
  Imported<decltype(::nvrtcGetProgramLog)> nvrtcGetProgramLog{"nvrtcGetProgramLog"};
  Imported<decltype(::nvrtcGetCUBINSize)> nvrtcGetCUBINSize{"nvrtcGetCUBINSize"};
  Imported<decltype(::nvrtcGetCUBIN)> nvrtcGetCUBIN{"nvrtcGetCUBIN"};
  Imported<decltype(::nvrtcGetPTXSize)> nvrtcGetPTXSize{"nvrtcGetPTXSize"};
  Imported<decltype(::nvrtcGetPTX)> nvrtcGetPTX{"nvrtcGetPTX"};
  Imported<decltype(::nvrtcAddNameExpression)> nvrtcAddNameExpression{"nvrtcAddNameExpression"};
  Imported<decltype(::nvrtcGetLoweredName)> nvrtcGetLoweredName{"nvrtcGetLoweredName"};
  Imported<decltype(::cublasLtGetVersion)> cublasLtGetVersion{"cublasLtGetVersion"};
  Imported<decltype(::cublasLtGetStatusString)> cublasLtGetStatusString{"cublasLtGetStatusString"};
  Imported<decltype(::cublasLtGetStatusName)> cublasLtGetStatusName{"cublasLtGetStatusName"};
  Imported<decltype(::cublasLtCreate)> cublasLtCreate{"cublasLtCreate"};
  Imported<decltype(::cublasLtDestroy)> cublasLtDestroy{"cublasLtDestroy"};
  Imported<decltype(::cublasLtMatmulDescCreate)> cublasLtMatmulDescCreate{
      "cublasLtMatmulDescCreate"};
  Imported<decltype(::cublasLtMatmulDescDestroy)> cublasLtMatmulDescDestroy{
      "cublasLtMatmulDescDestroy"};
  Imported<decltype(::cublasLtMatmulDescSetAttribute)> cublasLtMatmulDescSetAttribute{
      "cublasLtMatmulDescSetAttribute"};
  Imported<decltype(::cublasLtMatmulDescGetAttribute)> cublasLtMatmulDescGetAttribute{
      "cublasLtMatmulDescGetAttribute"};
  Imported<decltype(::cublasLtMatrixLayoutCreate)> cublasLtMatrixLayoutCreate{
      "cublasLtMatrixLayoutCreate"};
  Imported<decltype(::cublasLtMatrixLayoutDestroy)> cublasLtMatrixLayoutDestroy{
      "cublasLtMatrixLayoutDestroy"};
  Imported<decltype(::cublasLtMatrixLayoutSetAttribute)> cublasLtMatrixLayoutSetAttribute{
      "cublasLtMatrixLayoutSetAttribute"};
  Imported<decltype(::cublasLtMatmulPreferenceCreate)> cublasLtMatmulPreferenceCreate{
      "cublasLtMatmulPreferenceCreate"};
  Imported<decltype(::cublasLtMatmulPreferenceDestroy)> cublasLtMatmulPreferenceDestroy{
      "cublasLtMatmulPreferenceDestroy"};
  Imported<decltype(::cublasLtMatmulPreferenceSetAttribute)> cublasLtMatmulPreferenceSetAttribute{
      "cublasLtMatmulPreferenceSetAttribute"};
  Imported<decltype(::cublasLtMatmulAlgoGetHeuristic)> cublasLtMatmulAlgoGetHeuristic{
      "cublasLtMatmulAlgoGetHeuristic"};
  Imported<decltype(::cublasLtMatmul)> cublasLtMatmul{"cublasLtMatmul"};
  Imported<decltype(::cudnnGetVersion)> cudnnGetVersion{"cudnnGetVersion"};
  Imported<decltype(::cudnnGetErrorString)> cudnnGetErrorString{"cudnnGetErrorString"};
  Imported<decltype(::cudnnGetLastErrorString)> cudnnGetLastErrorString{"cudnnGetLastErrorString"};
  Imported<decltype(::cudnnCreate)> cudnnCreate{"cudnnCreate"};
  Imported<decltype(::cudnnDestroy)> cudnnDestroy{"cudnnDestroy"};
  Imported<decltype(::cudnnSetStream)> cudnnSetStream{"cudnnSetStream"};
  Imported<decltype(::cudnnGetStream)> cudnnGetStream{"cudnnGetStream"};
  Imported<decltype(::cudnnCreateTensorDescriptor)> cudnnCreateTensorDescriptor{
      "cudnnCreateTensorDescriptor"};
  Imported<decltype(::cudnnDestroyTensorDescriptor)> cudnnDestroyTensorDescriptor{
      "cudnnDestroyTensorDescriptor"};
  Imported<decltype(::cudnnSetTensorNdDescriptor)> cudnnSetTensorNdDescriptor{
      "cudnnSetTensorNdDescriptor"};
  Imported<decltype(::cudnnCreateFilterDescriptor)> cudnnCreateFilterDescriptor{
      "cudnnCreateFilterDescriptor"};
  Imported<decltype(::cudnnDestroyFilterDescriptor)> cudnnDestroyFilterDescriptor{
      "cudnnDestroyFilterDescriptor"};
  Imported<decltype(::cudnnSetFilterNdDescriptor)> cudnnSetFilterNdDescriptor{
      "cudnnSetFilterNdDescriptor"};
  Imported<decltype(::cudnnCreateConvolutionDescriptor)> cudnnCreateConvolutionDescriptor{
      "cudnnCreateConvolutionDescriptor"};
  Imported<decltype(::cudnnDestroyConvolutionDescriptor)> cudnnDestroyConvolutionDescriptor{
      "cudnnDestroyConvolutionDescriptor"};
  Imported<decltype(::cudnnSetConvolutionNdDescriptor)> cudnnSetConvolutionNdDescriptor{
      "cudnnSetConvolutionNdDescriptor"};
  Imported<decltype(::cudnnSetConvolutionGroupCount)> cudnnSetConvolutionGroupCount{
      "cudnnSetConvolutionGroupCount"};
  Imported<decltype(::cudnnSetConvolutionMathType)> cudnnSetConvolutionMathType{
      "cudnnSetConvolutionMathType"};
  Imported<decltype(::cudnnGetConvolutionNdForwardOutputDim)> cudnnGetConvolutionNdForwardOutputDim{
      "cudnnGetConvolutionNdForwardOutputDim"};
  Imported<decltype(::cudnnGetConvolutionForwardAlgorithm_v7)>
      cudnnGetConvolutionForwardAlgorithm_v7{"cudnnGetConvolutionForwardAlgorithm_v7"};
  Imported<decltype(::cudnnGetConvolutionBackwardDataAlgorithm_v7)>
      cudnnGetConvolutionBackwardDataAlgorithm_v7{"cudnnGetConvolutionBackwardDataAlgorithm_v7"};
  Imported<decltype(::cudnnGetConvolutionBackwardFilterAlgorithm_v7)>
      cudnnGetConvolutionBackwardFilterAlgorithm_v7{
          "cudnnGetConvolutionBackwardFilterAlgorithm_v7"};
  Imported<decltype(::cudnnGetConvolutionForwardWorkspaceSize)>
      cudnnGetConvolutionForwardWorkspaceSize{"cudnnGetConvolutionForwardWorkspaceSize"};
  Imported<decltype(::cudnnGetConvolutionBackwardDataWorkspaceSize)>
      cudnnGetConvolutionBackwardDataWorkspaceSize{"cudnnGetConvolutionBackwardDataWorkspaceSize"};
  Imported<decltype(::cudnnGetConvolutionBackwardFilterWorkspaceSize)>
      cudnnGetConvolutionBackwardFilterWorkspaceSize{
          "cudnnGetConvolutionBackwardFilterWorkspaceSize"};
  Imported<decltype(::cudnnConvolutionForward)> cudnnConvolutionForward{"cudnnConvolutionForward"};
  Imported<decltype(::cudnnConvolutionBackwardData)> cudnnConvolutionBackwardData{
      "cudnnConvolutionBackwardData"};
  Imported<decltype(::cudnnConvolutionBackwardFilter)> cudnnConvolutionBackwardFilter{
      "cudnnConvolutionBackwardFilter"};
  Imported<decltype(::ncclGetVersion)> ncclGetVersion{"ncclGetVersion"};
  Imported<decltype(::ncclGetErrorString)> ncclGetErrorString{"ncclGetErrorString"};
  Imported<decltype(::ncclGetLastError)> ncclGetLastError{"ncclGetLastError"};
  Imported<decltype(::ncclGetUniqueId)> ncclGetUniqueId{"ncclGetUniqueId"};
  Imported<decltype(::ncclCommInitRankConfig)> ncclCommInitRankConfig{"ncclCommInitRankConfig"};
  Imported<decltype(::ncclCommInitRank)> ncclCommInitRank{"ncclCommInitRank"};
  Imported<decltype(::ncclCommGetAsyncError)> ncclCommGetAsyncError{"ncclCommGetAsyncError"};
  Imported<decltype(::ncclCommCount)> ncclCommCount{"ncclCommCount"};
  Imported<decltype(::ncclCommCuDevice)> ncclCommCuDevice{"ncclCommCuDevice"};
  Imported<decltype(::ncclCommUserRank)> ncclCommUserRank{"ncclCommUserRank"};
  Imported<decltype(::ncclCommFinalize)> ncclCommFinalize{"ncclCommFinalize"};
  Imported<decltype(::ncclCommDestroy)> ncclCommDestroy{"ncclCommDestroy"};
  Imported<decltype(::ncclCommAbort)> ncclCommAbort{"ncclCommAbort"};
  Imported<decltype(::ncclGroupStart)> ncclGroupStart{"ncclGroupStart"};
  Imported<decltype(::ncclGroupEnd)> ncclGroupEnd{"ncclGroupEnd"};
  Imported<decltype(::ncclAllReduce)> ncclAllReduce{"ncclAllReduce"};
  Imported<decltype(::ncclReduce)> ncclReduce{"ncclReduce"};
  Imported<decltype(::ncclBroadcast)> ncclBroadcast{"ncclBroadcast"};
  Imported<decltype(::ncclAllGather)> ncclAllGather{"ncclAllGather"};
  Imported<decltype(::ncclReduceScatter)> ncclReduceScatter{"ncclReduceScatter"};
  Imported<decltype(::ncclSend)> ncclSend{"ncclSend"};
  Imported<decltype(::ncclRecv)> ncclRecv{"ncclRecv"};
};

const Library& library();

}  // namespace emulator_test
